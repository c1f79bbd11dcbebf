"""Small forms that open over a page; an error stands beside the field it is about."""

import json
from typing import Any

from django import forms
from django.http import HttpRequest
from unfold.forms import BaseDialogForm
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextareaWidget

from clusters.models import Cluster
from clusters.policy_choice import check_policies
from policies import registry
from rest.admin import refusals_shown_on


class SwitchPolicyForm(BaseDialogForm):  # type: ignore[misc]
    policy = forms.ChoiceField(widget=UnfoldAdminSelectWidget)
    policy_parameters = forms.JSONField(
        required=False,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 6}),
        help_text="JSON; what is left out has the policy's default.",
    )

    def __init__(self, request: HttpRequest, object_id: Any = None, **kwargs: Any) -> None:
        super().__init__(request, object_id, **kwargs)
        names = registry.policy_names()
        self.fields["policy"].choices = [
            (name, f"{name}: {registry.summary(name)}") for name in names
        ]
        cluster = Cluster.objects.filter(pk=object_id).first()
        if cluster is not None:
            self.initial = {
                "policy": cluster.policy,
                "policy_parameters": json.dumps(cluster.policy_parameters),
            }

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean()
        if self.errors:
            return cleaned
        cleaned["policy_parameters"] = cleaned["policy_parameters"] or {}
        if not isinstance(cleaned["policy_parameters"], dict):
            self.add_error("policy_parameters", "Must be a JSON object.")
            return cleaned
        no_shadow: dict[str, Any] = {"shadow_policy": None, "shadow_parameters": {}}
        with refusals_shown_on(self):
            check_policies({**cleaned, **no_shadow})
        return cleaned

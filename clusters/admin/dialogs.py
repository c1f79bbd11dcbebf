"""Small forms that open over a page; an error stands beside the field it is about."""

from typing import Any

from django import forms
from django.http import HttpRequest
from django.utils.html import escape
from unfold.forms import BaseDialogForm
from unfold.widgets import (
    UnfoldAdminSelectWidget,
    UnfoldAdminTextInputWidget,
    UnfoldBooleanWidget,
)

from clusters.models import Cluster
from clusters.policy_choice import check_policies
from clusters.policy_form import PREFIX, Field, fields, parameters
from policies import registry
from rest.problems import Problem

# Another choice brings that policy's fields.
_RELOADS = {
    "hx-trigger": "change",
    "hx-target": "#dialog-form",
    "hx-select": "#dialog-form",
    "hx-swap": "outerHTML",
}


class SwitchPolicyForm(BaseDialogForm):  # type: ignore[misc]
    policy = forms.ChoiceField()
    # Whose parameters stand below: another policy that was chosen meanwhile has its defaults.
    parameters_of = forms.CharField(widget=forms.HiddenInput, required=False)

    def __init__(self, request: HttpRequest, object_id: Any = None, **kwargs: Any) -> None:
        super().__init__(request, object_id, **kwargs)
        self.cluster = Cluster.objects.get(pk=object_id)
        names = registry.policy_names()
        wanted = request.POST.get("parameters_of") or request.GET.get("policy", "")
        self.shown = wanted if wanted in names else self.cluster.policy
        same = self.shown == self.cluster.policy
        self.stored = self.cluster.policy_parameters if same else {}
        self.fields["policy"] = forms.ChoiceField(
            choices=[(name, f"{name}: {registry.summary(name)}") for name in names],
            widget=UnfoldAdminSelectWidget(attrs={**_RELOADS, "hx-get": request.path}),
        )
        self.initial = {"policy": self.shown, "parameters_of": self.shown}
        for field in fields(self.shown, self.stored):
            self.fields[field.key] = _form_field(field)
            self.initial[field.key] = field.value

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean()
        if self.errors:
            return cleaned
        sent = self.data.dict() if hasattr(self.data, "dict") else self.data
        no_shadow: dict[str, Any] = {"shadow_policy": None, "shadow_parameters": {}}
        try:
            shown = cleaned["policy"] == self.shown
            found = parameters(self.shown, sent, self.stored) if shown else {}
            check_policies({"policy": cleaned["policy"], "policy_parameters": found, **no_shadow})
        except Problem as problem:
            self._show(problem)
            return cleaned
        return {**cleaned, "parameters": found}

    def _show(self, problem: Problem) -> None:
        for fault in problem.errors:
            key = PREFIX + fault.pointer.removeprefix("/policy_parameters/").partition("/")[0]
            self.add_error(key if key in self.fields else "policy", fault.detail)


def _form_field(field: Field) -> forms.Field:
    given: dict[str, Any] = {
        "label": field.name,
        "required": False,
        "help_text": escape(_help(field)),
    }
    if field.kind == "boolean":
        return forms.BooleanField(widget=UnfoldBooleanWidget, **given)
    if field.kind == "choice":
        choices = [(each, each) for each in field.choices]
        return forms.ChoiceField(choices=choices, widget=UnfoldAdminSelectWidget, **given)
    return forms.CharField(widget=UnfoldAdminTextInputWidget, **given)


def _help(field: Field) -> str:
    bounds = f" {field.range.capitalize()}." if field.range else ""
    return f"{field.description}{bounds} Default: {field.default}."

"""What an operator asks of a simulation: the live queue or drawn jobs, under some policies."""

from typing import Any

from django import forms
from django.http import HttpRequest
from msgspec import to_builtins
from unfold.forms import BaseDialogForm
from unfold.widgets import (
    UnfoldAdminCheckboxSelectMultipleWidget,
    UnfoldAdminDecimalFieldWidget,
    UnfoldAdminIntegerFieldWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextInputWidget,
)

from clusters.models import Cluster
from policies import registry
from rest.problems import Problem
from rest.structs import read
from whatif.api.structs import SimulationCreate
from whatif.request import check

LIVE, DRAWN = "live", "drawn"


class SimulationForm(BaseDialogForm):  # type: ignore[misc]
    """Each policy with its defaults; the cluster's own with the cluster's parameters."""

    name = forms.CharField(required=False, widget=UnfoldAdminTextInputWidget)
    cluster = forms.ModelChoiceField(
        queryset=Cluster.objects.order_by("name"), widget=UnfoldAdminSelectWidget
    )
    jobs_from = forms.ChoiceField(
        choices=[(LIVE, "the live queue"), (DRAWN, "a model of a real cluster")],
        widget=UnfoldAdminSelectWidget,
    )
    policies = forms.MultipleChoiceField(widget=UnfoldAdminCheckboxSelectMultipleWidget)
    jobs = forms.IntegerField(
        initial=500, widget=UnfoldAdminIntegerFieldWidget, help_text="How many are drawn."
    )
    load = forms.FloatField(
        initial=0.8,
        widget=UnfoldAdminDecimalFieldWidget,
        help_text="GPU time that drawn jobs ask for, over what the GPUs give.",
    )
    repetitions = forms.IntegerField(
        initial=1,
        min_value=1,
        max_value=32,
        widget=UnfoldAdminIntegerFieldWidget,
        help_text="Each with other drawn jobs; several tell chance from effect.",
    )

    def __init__(self, request: HttpRequest, object_id: Any = None, **kwargs: Any) -> None:
        super().__init__(request, object_id, **kwargs)
        self.fields["policies"].choices = [(name, name) for name in registry.policy_names()]

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean()
        if self.errors:
            return cleaned
        try:
            asked = to_builtins(read(SimulationCreate, _request(cleaned)))
            check(asked)
        except Problem as problem:
            for fault in problem.errors:
                field = fault.pointer.rpartition("/")[2]
                self.add_error(field if field in self.fields else "name", fault.detail)
            return cleaned
        return {**cleaned, "asked": asked}


def _request(cleaned: dict[str, Any]) -> dict[str, Any]:
    cluster: Cluster = cleaned["cluster"]
    policies = [
        {"name": name, "parameters": cluster.policy_parameters if name == cluster.policy else {}}
        for name in cleaned["policies"]
    ]
    request: dict[str, Any] = {
        "name": cleaned["name"] or " or ".join(cleaned["policies"])[:200],
        "cluster": cluster.name,
        "policies": policies,
        "seeds": list(range(cleaned["repetitions"])),
    }
    if cleaned["jobs_from"] == LIVE:
        return {**request, "live": True}
    tariff = cluster.tariff.name if cluster.tariff else None
    drawn = {"jobs": cleaned["jobs"], "load": cleaned["load"]}
    return {**request, "generate": drawn, "tariff": tariff, "pue": float(cluster.pue)}

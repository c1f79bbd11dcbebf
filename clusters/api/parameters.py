"""The JSON schema of `policy_parameters`: every parameter that any policy has."""

from typing import Any

from policies import registry

Schema = dict[str, Any]


def _in_openapi_3_0(schema: Schema) -> Schema:
    """3.0 writes an exclusive bound as a flag beside the bound; defaults differ by policy."""
    said = {key: value for key, value in schema.items() if key not in {"default", "title"}}
    if "exclusiveMinimum" in said:
        said |= {"minimum": said["exclusiveMinimum"], "exclusiveMinimum": True}
    if "items" in said:
        said["items"] = _in_openapi_3_0(said["items"])
    return said


def _of_every_policy() -> Schema:
    properties: Schema = {}
    for name in registry.policy_names():
        properties |= registry.parameter_schema(name)["properties"]
    return {
        "type": "object",
        "description": "Parameters of the policy; /policies/ says which it has, with defaults.",
        "properties": {name: _in_openapi_3_0(said) for name, said in sorted(properties.items())},
        "additionalProperties": False,
    }


PARAMETERS = _of_every_policy()

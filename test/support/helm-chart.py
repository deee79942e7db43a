"""Lints a chart as `helm lint --strict` does with each of the values in the list of standard input, renders it and validates
what Kubernetes has schemas for. Prints a list of the same length as JSON: what was found wrong, or null, the objects and the notes."""

import json
import sys

import kubernetes_validate
import yaml
from helm_python.chart import Chart, lint

OF_OPERATORS = ("monitoring.coreos.com/",)

path, kubernetes = sys.argv[1:]
chart = Chart.load(path)


def render(values):
    findings = [it for it in lint(path, values, strict=True)["messages"] if it["severity"] > 1]
    if findings:
        return {"wrong": json.dumps(findings), "objects": [], "notes": ""}
    rendered = chart.render(values, name="hooks", namespace="integration")
    objects = [
        it
        for name, text in rendered.items()
        if name.endswith(".yaml")
        for it in yaml.safe_load_all(text)
        if it is not None
    ]
    for it in objects:
        if not it["apiVersion"].startswith(OF_OPERATORS):
            kubernetes_validate.validate(it, kubernetes, strict=True)
    notes = "".join(text for name, text in rendered.items() if name.endswith("NOTES.txt"))
    return {"wrong": None, "objects": objects, "notes": notes}


json.dump([render(values) for values in json.load(sys.stdin)], sys.stdout)

"""Lints a chart as `helm lint --strict` does, renders it with the values of standard input, validates what Kubernetes has
schemas for, and prints the objects as JSON. Values that the chart's schema refuses, and findings, end it with status 1."""

import json
import sys

import kubernetes_validate
import yaml
from helm_python.chart import Chart, lint

OF_OPERATORS = ("monitoring.coreos.com/",)

path, kubernetes = sys.argv[1:]
values = json.load(sys.stdin)
findings = [it for it in lint(path, values, strict=True)["messages"] if it["severity"] > 1]
if findings:
    sys.exit(json.dumps(findings))
rendered = Chart.load(path).render(values, name="hooks", namespace="integration")
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
json.dump(objects, sys.stdout)

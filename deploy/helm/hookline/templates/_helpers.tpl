{{- define "hookline.name" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 52 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "hookline.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "hookline.labels" -}}
{{ include "hookline.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "hookline.serviceAccount" -}}
{{- .Values.serviceAccount.name | default (include "hookline.name" .) -}}
{{- end -}}

{{- define "hookline.tokenSecret" -}}
{{- .Values.admin.tokenSecret.name | default (printf "%s-admin" (include "hookline.name" .)) -}}
{{- end -}}

{{- /* Not empty: there may be several pods, which are replicas of each other. */ -}}
{{- define "hookline.isMany" -}}
{{- if or .Values.autoscaling.enabled (gt (int .Values.replicas) 1) }}true{{ end -}}
{{- end -}}

{{- define "hookline.replicasSecret" -}}
{{- .Values.admin.replicasSecret.name | default (printf "%s-replicas" (include "hookline.name" .)) -}}
{{- end -}}

{{- /* Names the folder and the volume of an entry of `include`. */ -}}
{{- define "hookline.included" -}}
{{- if .configMap }}configmap-{{ .configMap }}{{ else }}secret-{{ .secret }}{{ end -}}
{{- end -}}

{{- /* What the configuration is made of, for the ConfigMap and its checksum. */ -}}
{{- define "hookline.configuration" -}}
pipelines.conf: |
  include = configuration.conf
  {{- range $name, $text := .Values.files }}{{ if hasSuffix ".conf" $name }}, {{ $name }}{{ end }}{{ end }}
  {{- range .Values.include }}, ../hookline.d/{{ include "hookline.included" . }}/*.conf{{ end }}

  [admin]
  listen = 0.0.0.0:{{ .Values.admin.port }}
  token = ${file:/run/hookline/admin-token}
  capture = {{ .Values.admin.capture }}
  {{- if .Values.admin.tokenSecret.readKey }}
  read_token = ${file:/run/hookline/admin-read-token}
  {{- end }}
  {{- if include "hookline.isMany" . }}
  replicas = dns:{{ include "hookline.name" . }}-admin:{{ .Values.admin.port }}
  replicas_token = ${file:/run/hookline-replicas/token}
  {{- end }}
  {{- if .Values.admin.tlsSecret }}
  tls_certificate = /run/hookline-tls/tls.crt
  tls_key = /run/hookline-tls/tls.key
  {{- end }}

  [service]
  shutdown_delay = {{ .Values.shutdown.delaySeconds }}s
  drain_timeout = {{ .Values.shutdown.drainSeconds }}s
  {{- range $key, $value := .Values.settings }}
  {{ $key }} = {{ $value }}
  {{- end }}
configuration.conf: |
  {{- .Values.configuration | nindent 2 }}
{{- range $name, $text := .Values.files }}
{{ $name }}: |
  {{- $text | nindent 2 }}
{{- end }}
{{- end -}}

{{- /* The pod of the Deployment or StatefulSet. */ -}}
{{- define "hookline.pod" -}}
metadata:
  labels:
    {{- include "hookline.labels" . | nindent 4 }}
    {{- with .Values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  annotations:
    checksum/configuration: {{ eq .Values.reload "watch" | ternary "watched" (include "hookline.configuration" . | sha256sum) }}
    {{- with .Values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  serviceAccountName: {{ include "hookline.serviceAccount" . }}
  automountServiceAccountToken: false
  enableServiceLinks: false
  {{- with .Values.image.pullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  # the delay, the drain, and 10 s for what comes after
  terminationGracePeriodSeconds: {{ add .Values.shutdown.delaySeconds .Values.shutdown.drainSeconds 10 }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 65532
    runAsGroup: 65532
    fsGroup: 65532
    fsGroupChangePolicy: OnRootMismatch
    seccompProfile:
      type: RuntimeDefault
  containers:
    - name: hookline
      image: "{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}"
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      args: [run{{ if eq .Values.reload "watch" }}, --watch{{ end }}]
      {{- $env := .Values.env }}
      {{- if and .Values.admin.tlsSecret (include "hookline.isMany" .) (not (contains "NODE_EXTRA_CA_CERTS" (toYaml .Values.env))) }}
      {{- /* by which replicas trust each other */ -}}
      {{- $env = append $env (dict "name" "NODE_EXTRA_CA_CERTS" "value" "/run/hookline-tls/ca.crt") }}
      {{- end }}
      {{- with $env }}
      env:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      ports:
        - name: webhooks
          containerPort: {{ .Values.service.targetPort }}
        - name: admin
          containerPort: {{ .Values.admin.port }}
      startupProbe:
        httpGet: &healthz
          path: /healthz
          port: admin
          {{- if .Values.admin.tlsSecret }}
          scheme: HTTPS
          {{- end }}
        periodSeconds: 1
        failureThreshold: 60
      livenessProbe:
        httpGet: *healthz
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 3
      readinessProbe:
        httpGet:
          path: /readyz{{ with .Values.readiness.exclude }}?exclude={{ . }}{{ end }}
          port: admin
          {{- if .Values.admin.tlsSecret }}
          scheme: HTTPS
          {{- end }}
        periodSeconds: 2
        timeoutSeconds: 2
        failureThreshold: 2
      resources:
        {{- toYaml .Values.resources | nindent 8 }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities:
          drop: [ALL]
      volumeMounts:
        - name: configuration
          mountPath: /etc/hookline
          readOnly: true
        {{- range $at, $entry := .Values.include }}
        - name: include-{{ $at }}
          mountPath: /etc/hookline.d/{{ include "hookline.included" $entry }}
          readOnly: true
        {{- end }}
        - name: admin-token
          mountPath: /run/hookline
          readOnly: true
        {{- if include "hookline.isMany" . }}
        - name: replicas-token
          mountPath: /run/hookline-replicas
          readOnly: true
        {{- end }}
        {{- if .Values.admin.tlsSecret }}
        - name: admin-tls
          mountPath: /run/hookline-tls
          readOnly: true
        {{- end }}
        {{- range .Values.secrets }}
        - name: secret-{{ . }}
          mountPath: /run/secrets/{{ . }}
          readOnly: true
        {{- end }}
        {{- if .Values.persistence.enabled }}
        - name: data
          mountPath: /var/lib/hookline
        {{- end }}
  volumes:
    - name: configuration
      configMap:
        name: {{ include "hookline.name" . }}
    {{- range $at, $entry := .Values.include }}
    - name: include-{{ $at }}
      {{- if $entry.configMap }}
      configMap:
        name: {{ $entry.configMap }}
      {{- else }}
      secret:
        secretName: {{ $entry.secret }}
        defaultMode: 0440
      {{- end }}
    {{- end }}
    - name: admin-token
      secret:
        secretName: {{ include "hookline.tokenSecret" . }}
        defaultMode: 0440
        items:
          - key: {{ .Values.admin.tokenSecret.key }}
            path: admin-token
          {{- with .Values.admin.tokenSecret.readKey }}
          - key: {{ . }}
            path: admin-read-token
          {{- end }}
    {{- if include "hookline.isMany" . }}
    - name: replicas-token
      secret:
        secretName: {{ include "hookline.replicasSecret" . }}
        defaultMode: 0440
        items:
          - key: {{ .Values.admin.replicasSecret.key }}
            path: token
    {{- end }}
    {{- with .Values.admin.tlsSecret }}
    - name: admin-tls
      secret:
        secretName: {{ . }}
        defaultMode: 0440
    {{- end }}
    {{- range .Values.secrets }}
    - name: secret-{{ . }}
      secret:
        secretName: {{ . }}
        defaultMode: 0440
    {{- end }}
  topologySpreadConstraints:
    {{- range list "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
    - maxSkew: 1
      topologyKey: {{ . }}
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "hookline.selector" $ | nindent 10 }}
    {{- end }}
  {{- with .Values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}

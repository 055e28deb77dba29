{{- define "picket.fullname" -}}
{{- if contains "picket" .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-picket" .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "picket.selector" -}}
app.kubernetes.io/name: picket
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "picket.labels" -}}
{{ include "picket.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{- define "picket.imageVersion" -}}
{{- if .Values.image.digest -}}
@{{ .Values.image.digest }}
{{- else -}}
:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{- define "picket.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
fsGroupChangePolicy: OnRootMismatch
{{- end -}}

{{- define "picket.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{- define "picket.probes" -}}
startupProbe:
  httpGet: { path: /-/liveness, port: {{ . }} }
  periodSeconds: 1
  failureThreshold: 120
readinessProbe:
  httpGet: { path: /-/readiness, port: {{ . }} }
  periodSeconds: 5
  timeoutSeconds: 3
  failureThreshold: 2
livenessProbe:
  httpGet: { path: /-/liveness, port: {{ . }} }
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
{{- end -}}

{{- define "picket.serviceUrl" -}}
{{- if .Values.agent.serviceUrl -}}
{{- .Values.agent.serviceUrl | trimSuffix "/" -}}
{{- else if .Values.service.enabled -}}
http://{{ include "picket.fullname" . }}-service:8080
{{- else -}}
{{- fail "agent.serviceUrl: the address of the service is needed where service.enabled is false" -}}
{{- end -}}
{{- end -}}

{{- /* Numbers of values are floating: 2000000000 must not become 2e+09. */ -}}
{{- define "picket.text" -}}
{{- if kindIs "float64" . -}}{{ int64 . }}{{- else -}}{{ . }}{{- end -}}
{{- end -}}

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

{{- define "picket.image" -}}
{{ .Values.image.repository }}
{{- if .Values.image.digest }}@{{ .Values.image.digest }}{{ else }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{ end }}
{{- end -}}

{{- define "picket.uptimeImage" -}}
{{ .Values.image.uptimeRepository }}
{{- if .Values.image.uptimeDigest }}@{{ .Values.image.uptimeDigest }}{{ else }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{ end }}
{{- end -}}

{{- /* Without runAs the cluster chooses the ids, as OpenShift does from the range of the namespace. */ -}}
{{- define "picket.podSecurity" -}}
runAsNonRoot: true
{{- with .Values.runAs }}
runAsUser: {{ .user }}
runAsGroup: {{ .group }}
fsGroup: {{ .group }}
{{- end }}
fsGroupChangePolicy: OnRootMismatch
{{- end -}}

{{- /* What agent and service take alike: settings as text, settings from secrets, whole variables. */ -}}
{{- define "picket.variables" -}}
{{- range $name, $value := .settings }}
- name: {{ $name }}
  value: {{ include "picket.text" $value | quote }}
{{- end }}
{{- range $name, $from := .secretSettings }}
- name: {{ $name }}
  valueFrom:
    secretKeyRef: { name: {{ $from.secret }}, key: {{ $from.key }} }
{{- end }}
{{- with .extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- /* Takes (list NAME VALUES), VALUES being those of the agent or the service. */ -}}
{{- define "picket.serviceAccountName" -}}
{{- (index . 1).serviceAccount.name | default (index . 0) -}}
{{- end -}}

{{- define "picket.monitorEndpoint" -}}
path: /metrics
interval: {{ .interval }}
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
  # One that hangs finishes nothing: it is ended sooner than one that drains.
  terminationGracePeriodSeconds: 30
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

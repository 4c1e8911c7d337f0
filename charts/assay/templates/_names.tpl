{{/* Labels of everything that the chart makes. */}}
{{- define "assay.labels" -}}
app.kubernetes.io/name: assay
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{/* Labels that select the operator's pod; they never change. */}}
{{- define "assay.operator" -}}
app.kubernetes.io/name: assay
app.kubernetes.io/component: operator
{{- end }}

{{/* Labels that select the Go module gateway's pods; they never change. */}}
{{- define "assay.goproxy" -}}
app.kubernetes.io/name: assay
app.kubernetes.io/component: goproxy
{{- end }}

{{/* Labels that select the gateways' pods; they never change. */}}
{{- define "assay.gateway" -}}
app.kubernetes.io/name: assay
app.kubernetes.io/component: gateway
{{- end }}

{{/* The settings file of `assay gateway`: assay.gateway.settings.Settings. */}}
{{- define "assay.gatewayConfig" -}}
namespace: {{ .Values.runs.namespace | toJson }}
{{- with .Values.gateway }}
defaultEnvironment: {{ .defaultEnvironment | toJson }}
environments: {{ .environments | toJson }}
episode: {{ .episode | toJson }}
logLevel: {{ .logLevel | toJson }}
{{- end }}
{{- end }}

{{/* Annotation of what outlives the release: running pods must not lose their policies before they end. */}}
{{- define "assay.keep" -}}
{{- if .Values.runs.keep }}
  annotations: {helm.sh/resource-policy: keep}
{{- end }}
{{- end }}

{{/* The settings file of `assay operator`: assay.controller.settings.Settings. */}}
{{- define "assay.config" -}}
namespace: {{ .Values.runs.namespace | toJson }}
witnessImage: {{ .Values.image.reference | quote }}
pullPolicy: {{ .Values.image.pullPolicy | toJson }}
pullSecrets: {{ .Values.image.pullSecrets | toJson }}
maxPods: {{ .Values.operator.maxPods | toJson }}
infraRetries: {{ .Values.operator.infraRetries | toJson }}
reviewRequired: {{ .Values.operator.reviewRequired | toJson }}
renamedRepos: {{ .Values.operator.renamedRepos | toJson }}
maxSandboxes: {{ .Values.operator.maxSandboxes | toJson }}
cpuRequestFraction: {{ .Values.operator.cpuRequestFraction | toJson }}
resyncSeconds: {{ .Values.operator.resyncSeconds | toJson }}
logLevel: {{ .Values.operator.logLevel | toJson }}
goSumdb: {{ .Values.goproxy.sumdb | toJson }}
store: {{ .Values.store.uri | quote }}
isolation: {{ .Values.operator.isolation | toJson }}
{{- end }}

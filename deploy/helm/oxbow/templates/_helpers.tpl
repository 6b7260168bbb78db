{{- define "oxbow.name" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" (.Release.Name | trunc 44 | trimSuffix "-") .Chart.Name -}}
{{- end -}}
{{- end -}}

{{- define "oxbow.serviceAccount" -}}
{{- .Values.serviceAccount.name | default (ternary (include "oxbow.name" .) "default" .Values.serviceAccount.create) -}}
{{- end -}}

{{- /* The labels that select the pods of a component: (list . "work") */ -}}
{{- define "oxbow.selector" -}}
{{- $root := index . 0 -}}
app.kubernetes.io/name: {{ $root.Chart.Name }}
app.kubernetes.io/instance: {{ $root.Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end -}}

{{- define "oxbow.labels" -}}
{{- $root := index . 0 -}}
{{ include "oxbow.selector" . }}
app.kubernetes.io/version: {{ $root.Values.image.tag | quote }}
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
helm.sh/chart: {{ $root.Chart.Name }}-{{ $root.Chart.Version }}
{{- end -}}

{{- define "oxbow.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
seccompProfile: {type: RuntimeDefault}
{{- end -}}

{{- /* The image of a container, and what protects the node from it */ -}}
{{- define "oxbow.container" -}}
image: {{ printf "%s:%s" (required "image.repository is required" .Values.image.repository)
  (required "image.tag is required" .Values.image.tag) | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  capabilities: {drop: [ALL]}
  readOnlyRootFilesystem: true
{{- end -}}

{{- /* The variable with the URL of the database: (list . "worker") */ -}}
{{- define "oxbow.database" -}}
- name: DATABASE_URL
  valueFrom:
    secretKeyRef: {name: {{ (index . 0).Values.database.secret | quote }}, key: {{ index . 1 }}}
{{- end -}}

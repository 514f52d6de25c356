{{/* Contradictions beyond those of logins (_settings.tpl, _http.tpl): names that are taken, and memory. */}}

{{- define "lagwarden.pod.contradictions" -}}
{{- $own := dict -}}
{{- $_ := set $own "extraEnv" (include "lagwarden.environment" . | fromYamlArray) -}}
{{- $_ := set $own "extraVolumes" (append (include "lagwarden.volumes" . | fromYamlArray) (dict "name" "checkpoint")) -}}
{{- $_ := set $own "extraContainers" (list (dict "name" "lagwarden")) -}}
{{- range $where, $taken := $own -}}
{{- $names := list -}}
{{- range $taken }}{{ $names = append $names .name }}{{ end -}}
{{- range get $.Values $where -}}
{{- if has .name $names -}}
{{- fail (printf "%s: the name %s is taken; choose another one" $where .name) -}}
{{- end -}}
{{- $names = append $names .name -}}
{{- end -}}
{{- end -}}
{{- $paths := list -}}
{{- range include "lagwarden.mounts" . | fromYamlArray }}{{ $paths = append $paths .mountPath }}{{ end -}}
{{- range .Values.extraVolumeMounts -}}
{{- if has .mountPath $paths -}}
{{- fail (printf "extraVolumeMounts: the path %s is taken; choose another one" .mountPath) -}}
{{- end -}}
{{- end -}}
{{- $labels := include "lagwarden.labels" (dict "Values" (omit .Values "commonLabels") "Chart" .Chart "Release" .Release) | fromYaml -}}
{{- range $where, $given := dict "commonLabels" .Values.commonLabels "podLabels" .Values.podLabels "service.labels" .Values.service.labels "serviceMonitor.labels" .Values.serviceMonitor.labels "rules.labels" .Values.rules.labels "dashboards.labels" .Values.dashboards.labels -}}
{{- range $name, $_ := $given -}}
{{- if or (hasKey $labels $name) (and (ne $where "commonLabels") (hasKey $.Values.commonLabels $name)) -}}
{{- fail (printf "%s: the label %s is taken; choose another one" $where $name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- with .Values.dashboards -}}
{{- if hasKey .labels .label -}}
{{- fail (printf "dashboards.labels: the label %s is taken; choose another one" .label) -}}
{{- end -}}
{{- end -}}
{{- if hasKey .Values.podAnnotations "checksum/config" -}}
{{- fail "podAnnotations: the annotation checksum/config is taken; choose another one" -}}
{{- end -}}
{{- if and .Values.ingress.enabled (not .Values.ingress.host) -}}
{{- fail "ingress.host: is needed with ingress.enabled" -}}
{{- end -}}
{{- if and .Values.httpRoute.enabled (not .Values.httpRoute.parentRefs) -}}
{{- fail "httpRoute.parentRefs: is needed with httpRoute.enabled; name the Gateway" -}}
{{- end -}}
{{- if .Values.objectStore.address -}}
{{- if .Values.persistence.enabled -}}
{{- fail "persistence.enabled: has no effect with objectStore.address; set it to false" -}}
{{- end -}}
{{- if or (eq .Values.mode "cluster") (gt (int .Values.shards) 1) -}}
{{- fail "objectStore.address: needs mode local and one shard; with more, give each its own release" -}}
{{- end -}}
{{- end -}}
{{- include "lagwarden.cluster.contradictions" . -}}
{{- include "lagwarden.operator.contradictions" . -}}
{{- include "lagwarden.memory.contradictions" . -}}
{{- include "lagwarden.upgrade.contradictions" . -}}
{{- end }}

{{/* The bytes of a quantity of Kubernetes. */}}
{{- define "lagwarden.bytes" -}}
{{- $number := regexFind "^[0-9.]+" . | float64 -}}
{{- $unit := regexReplaceAll "^[0-9.]+" . "" -}}
{{- $factors := dict "" 1 "m" 0.001 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "P" 1e15 "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 "Ti" 1099511627776 "Pi" 1125899906842624 -}}
{{- mulf $number (get $factors $unit | float64) | int64 -}}
{{- end }}

{{- define "lagwarden.memory.contradictions" -}}
{{- $limit := dig "limits" "memory" "" .Values.resources | toString -}}
{{- $heap := dig "job" "driver_memory" "" .Values.config | toString | lower -}}
{{- if and (regexMatch "^[0-9.]+[A-Za-z]*$" $limit) (regexMatch "^[0-9]+[kmgt]$" $heap) -}}
{{- $least := add (include "lagwarden.spark.bytes" $heap | int64) 1073741824 -}}
{{- if lt (include "lagwarden.bytes" $limit | int64) $least -}}
{{- fail (printf "resources.limits.memory: %s cannot hold a heap of %s (config.job.driver_memory) and the Python processes; allow about 2 GiB more than the heap" $limit $heap) -}}
{{- end -}}
{{- end -}}
{{- end }}

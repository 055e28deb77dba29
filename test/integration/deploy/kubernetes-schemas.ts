/**
 * What Kubernetes allows in the kinds that deploy/ uses, as far as deploy/ uses them: a field that is not here is an error, so a
 * misspelt one is found without a cluster. `kubectl --dry-run=client` would ask a server. The schemas were compared with the
 * published types (kubernetes-models 5.1.0, @kubernetes-models/keda 2.0.0); a field that is added here has to be looked up.
 */
import { z } from 'zod';

const text = z.string().min(1);
const count = z.int().nonnegative();
const dnsLabel = z
  .string()
  .max(63)
  .regex(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/);
const quantity = z.string().regex(/^\d+(\.\d+)?(m|k|M|G|Ki|Mi|Gi|Ti)?$/);
const texts = z.record(z.string(), z.string());
const labelValue = z
  .string()
  .max(63)
  .regex(/^([A-Za-z0-9]([\w.-]*[A-Za-z0-9])?)?$/);
const metadata = z.strictObject({
  name: dnsLabel,
  labels: z.record(z.string(), labelValue).optional(),
  annotations: texts.optional(),
});
const selector = z.strictObject({ matchLabels: z.record(z.string(), labelValue) });
const portName = z
  .string()
  .max(15)
  .regex(/^[a-z0-9-]+$/);

const podSecurity = z.strictObject({
  runAsNonRoot: z.literal(true),
  runAsUser: z.int().min(1),
  runAsGroup: z.int().min(1),
  fsGroup: z.int().min(1),
  fsGroupChangePolicy: z.enum(['OnRootMismatch', 'Always']).optional(),
  seccompProfile: z.discriminatedUnion('type', [
    z.strictObject({ type: z.literal('RuntimeDefault') }),
    z.strictObject({ type: z.literal('Localhost'), localhostProfile: z.string().regex(/^[^/].*\.json$/) }),
  ]),
  sysctls: z.array(z.strictObject({ name: z.literal('net.ipv4.ping_group_range'), value: text })).optional(),
});
/** All of the profile "restricted" of the pod security standards. */
const containerSecurity = z.strictObject({
  allowPrivilegeEscalation: z.literal(false),
  readOnlyRootFilesystem: z.literal(true),
  capabilities: z.strictObject({ drop: z.tuple([z.literal('ALL')]) }),
});

const probe = z.strictObject({
  httpGet: z.strictObject({ path: z.string().startsWith('/'), port: portName }),
  periodSeconds: z.int().min(1),
  timeoutSeconds: z.int().min(1).optional(),
  failureThreshold: z.int().min(1),
});
const environment = z.union([
  z.strictObject({ name: z.string().regex(/^[A-Z_]\w*$/), value: z.string() }),
  z.strictObject({
    name: z.string().regex(/^[A-Z_]\w*$/),
    valueFrom: z.strictObject({ secretKeyRef: z.strictObject({ name: dnsLabel, key: text }) }),
  }),
]);
const resources = z.strictObject({
  requests: z.strictObject({ cpu: quantity.optional(), memory: quantity.optional() }).optional(),
  limits: z.strictObject({ cpu: quantity.optional(), memory: quantity.optional() }).optional(),
});
const container = z.strictObject({
  name: dnsLabel,
  image: text,
  imagePullPolicy: z.enum(['Always', 'IfNotPresent', 'Never']),
  args: z.array(z.enum(['agent', 'service'])),
  env: z.array(environment),
  envFrom: z.array(z.strictObject({ configMapRef: z.strictObject({ name: dnsLabel }) })).optional(),
  ports: z.array(z.strictObject({ name: portName, containerPort: z.int().min(1025).max(65535) })),
  startupProbe: probe,
  readinessProbe: probe,
  livenessProbe: probe,
  securityContext: containerSecurity,
  resources,
  volumeMounts: z.array(
    z.strictObject({
      name: dnsLabel,
      mountPath: z.string().startsWith('/'),
      readOnly: z.boolean().optional(),
    }),
  ),
});
const fileMode = z.int().min(0).max(0o777);
const volume = z.union([
  z.strictObject({ name: dnsLabel, emptyDir: z.strictObject({ sizeLimit: quantity.optional() }) }),
  z.strictObject({ name: dnsLabel, configMap: z.strictObject({ name: dnsLabel }) }),
  z.strictObject({ name: dnsLabel, persistentVolumeClaim: z.strictObject({ claimName: dnsLabel }) }),
  z.strictObject({
    name: dnsLabel,
    secret: z.strictObject({
      secretName: dnsLabel,
      defaultMode: fileMode,
      items: z.array(z.strictObject({ key: text, path: text })).optional(),
    }),
  }),
]);
const toleration = z.strictObject({
  key: text.optional(),
  operator: z.enum(['Equal', 'Exists']).optional(),
  value: z.string().optional(),
  effect: z.enum(['NoSchedule', 'PreferNoSchedule', 'NoExecute']).optional(),
});
const podSpec = z.strictObject({
  serviceAccountName: dnsLabel,
  automountServiceAccountToken: z.literal(false),
  enableServiceLinks: z.literal(false),
  terminationGracePeriodSeconds: count,
  imagePullSecrets: z.array(z.strictObject({ name: dnsLabel })).optional(),
  priorityClassName: dnsLabel.optional(),
  securityContext: podSecurity,
  topologySpreadConstraints: z
    .array(
      z.strictObject({
        maxSkew: z.int().min(1),
        topologyKey: text,
        whenUnsatisfiable: z.enum(['DoNotSchedule', 'ScheduleAnyway']),
        labelSelector: selector,
      }),
    )
    .optional(),
  containers: z.array(container).length(1),
  volumes: z.array(volume),
  nodeSelector: texts.optional(),
  tolerations: z.array(toleration).optional(),
  // The user's own, passed through.
  affinity: z.object({}).loose().optional(),
});
const strategy = z.union([
  z.strictObject({ type: z.literal('Recreate') }),
  z.strictObject({
    type: z.literal('RollingUpdate'),
    rollingUpdate: z.strictObject({ maxUnavailable: z.literal(0), maxSurge: z.int().min(1) }).optional(),
  }),
]);

export const Deployment = z.strictObject({
  apiVersion: z.literal('apps/v1'),
  kind: z.literal('Deployment'),
  metadata,
  spec: z.strictObject({
    replicas: count.optional(),
    strategy,
    selector,
    template: z.strictObject({
      metadata: z.strictObject({ labels: z.record(z.string(), labelValue), annotations: texts.optional() }),
      spec: podSpec,
    }),
  }),
});
export type Deployment = z.output<typeof Deployment>;

const networkPort = z.strictObject({
  port: z.union([portName, z.int()]),
  protocol: z.enum(['TCP', 'UDP']),
});
const cidr = z.union([z.cidrv4(), z.cidrv6()]);
const NetworkPolicy = z.strictObject({
  apiVersion: z.literal('networking.k8s.io/v1'),
  kind: z.literal('NetworkPolicy'),
  metadata,
  spec: z.strictObject({
    podSelector: selector,
    policyTypes: z.array(z.enum(['Ingress', 'Egress'])).min(1),
    ingress: z.array(z.strictObject({ ports: z.array(networkPort) })),
    egress: z
      .array(
        z.strictObject({
          to: z.array(
            z.strictObject({ ipBlock: z.strictObject({ cidr, except: z.array(cidr).optional() }) }),
          ),
          ports: z.array(networkPort).optional(),
        }),
      )
      .optional(),
  }),
});
const PodDisruptionBudget = z.strictObject({
  apiVersion: z.literal('policy/v1'),
  kind: z.literal('PodDisruptionBudget'),
  metadata,
  spec: z.strictObject({
    maxUnavailable: z.union([count, z.string().regex(/^\d+%$/)]),
    unhealthyPodEvictionPolicy: z.enum(['AlwaysAllow', 'IfHealthyBudget']),
    selector,
  }),
});
const ServiceAccount = z.strictObject({
  apiVersion: z.literal('v1'),
  kind: z.literal('ServiceAccount'),
  metadata,
  automountServiceAccountToken: z.literal(false),
});
const Secret = z.strictObject({
  apiVersion: z.literal('v1'),
  kind: z.literal('Secret'),
  metadata,
  type: z.literal('Opaque'),
  stringData: texts,
});
const Service = z.strictObject({
  apiVersion: z.literal('v1'),
  kind: z.literal('Service'),
  metadata,
  spec: z.strictObject({
    type: z.literal('ClusterIP'),
    selector: z.record(z.string(), labelValue),
    ports: z.array(
      z.strictObject({ name: portName, port: z.int(), targetPort: portName, protocol: z.literal('TCP') }),
    ),
  }),
});
const PersistentVolumeClaim = z.strictObject({
  apiVersion: z.literal('v1'),
  kind: z.literal('PersistentVolumeClaim'),
  metadata,
  spec: z.strictObject({
    accessModes: z.array(z.enum(['ReadWriteOnce', 'ReadWriteMany', 'ReadWriteOncePod'])).min(1),
    storageClassName: dnsLabel.optional(),
    resources: z.strictObject({ requests: z.strictObject({ storage: quantity }) }),
  }),
});
const TriggerAuthentication = z.strictObject({
  apiVersion: z.literal('keda.sh/v1alpha1'),
  kind: z.literal('TriggerAuthentication'),
  metadata,
  spec: z.strictObject({
    secretTargetRef: z.array(z.strictObject({ parameter: text, name: dnsLabel, key: text })),
  }),
});
const ScaledObject = z.strictObject({
  apiVersion: z.literal('keda.sh/v1alpha1'),
  kind: z.literal('ScaledObject'),
  metadata,
  spec: z.strictObject({
    scaleTargetRef: z.strictObject({ name: dnsLabel }),
    minReplicaCount: count,
    maxReplicaCount: z.int().min(1),
    pollingInterval: count,
    cooldownPeriod: count,
    triggers: z.array(
      z.strictObject({
        type: z.literal('metrics-api'),
        metricType: z.literal('AverageValue'),
        metadata: z.strictObject({
          url: z.url(),
          format: z.literal('prometheus'),
          valueLocation: text,
          targetValue: z.string().regex(/^\d+$/),
          authMode: z.literal('bearer'),
        }),
        authenticationRef: z.strictObject({ name: dnsLabel }),
      }),
    ),
  }),
});

/** Any object of deploy/. */
export const KubernetesObject = z.discriminatedUnion('kind', [
  Deployment,
  NetworkPolicy,
  PodDisruptionBudget,
  ServiceAccount,
  Secret,
  Service,
  PersistentVolumeClaim,
  TriggerAuthentication,
  ScaledObject,
]);
export type KubernetesObject = z.output<typeof KubernetesObject>;

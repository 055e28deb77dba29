/** The value sets for rendering the chart: every switch on and off, and every optional value. */
export type Values = { readonly [name: string]: unknown };

const agent = { serviceUrl: 'https://picket.example.com/', existingSecret: 'key-of-the-office' };

export const chartValues: Readonly<Record<string, Values>> = {
  'an agent': { agent },
  'an agent with its key': { agent: { serviceUrl: agent.serviceUrl, apiKey: 'pl_"quoted"' } },
  'an uptime agent': {
    agent: { ...agent, kind: 'uptime', shutdownGraceSeconds: 30, resources: { limits: { memory: '500Mi' } } },
  },
  'without a profile': { agent: { ...agent, seccompProfile: '' } },
  'behind a proxy': {
    agent: {
      ...agent,
      proxy: { https: 'http://proxy:3128', http: 'http://proxy:3128', except: '.svc,10.0.0.0/8' },
      caCertificates: { configMap: 'authorities' },
    },
  },
  'authorities in a secret': { agent: { ...agent, caCertificates: { secret: 'authorities' } } },
  'everything an agent can have': {
    image: {
      repository: 'registry.example.com/picket',
      digest: `sha256:${'0123456789abcdef'.repeat(4)}`,
      pullPolicy: 'Always',
      pullSecrets: [{ name: 'registry' }],
    },
    agent: {
      ...agent,
      replicas: 4,
      jobConcurrency: 3,
      shutdownGraceSeconds: 1800,
      settings: { LOG_LEVEL: 'debug', SPOOL_MAX_BYTES: 2_000_000_000, SPOOL_REQUIRED: true },
      podAnnotations: { 'example.com/team': 'sre' },
      nodeSelector: { disk: 'ssd' },
      tolerations: [{ key: 'dedicated', operator: 'Equal', value: 'monitoring', effect: 'NoSchedule' }],
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [{ matchExpressions: [{ key: 'zone', operator: 'In', values: ['a', 'b'] }] }],
          },
        },
      },
      priorityClassName: 'important',
      spoolSize: '5Gi',
    },
  },
  'without budget and policy': {
    agent: { ...agent, podDisruptionBudget: { enabled: false }, networkPolicy: { enabled: false } },
  },
  'a policy that opens everything': { agent: { ...agent, networkPolicy: { except: [], exceptIPv6: [] } } },
  'as many agents as there is work for': {
    agent: {
      ...agent,
      jobConcurrency: 2,
      autoscaling: { enabled: true, location: 'office', minReplicas: 1, maxReplicas: 20 },
    },
  },
  'a service alone, on SQLite': { agent: { enabled: false }, service: { enabled: true } },
  'a service and an agent': {
    agent: {
      existingSecret: 'key',
      autoscaling: { enabled: true, location: 'office', metricsUrl: 'http://other:8080/metrics' },
    },
    service: { enabled: true, databaseSecret: 'database', apiKeySecret: 'first-key' },
  },
  'several services': {
    agent: { existingSecret: 'key' },
    service: {
      enabled: true,
      replicas: 3,
      databaseSecret: 'database',
      publicUrl: 'https://picket.example.com',
      settings: { ARTIFACT_STORE: 's3://bucket/picket', RATE_LIMIT_PER_MINUTE: 1200 },
      persistence: { enabled: false },
      podAnnotations: { 'example.com/team': 'sre' },
      nodeSelector: { disk: 'ssd' },
      tolerations: [{ key: 'dedicated', operator: 'Exists' }],
      networkPolicy: { enabled: false },
    },
  },
  'secrets by reference, and what else pods need': {
    image: { uptimeDigest: `sha256:${'fedcba9876543210'.repeat(4)}` },
    runAs: null,
    agent: {
      ...agent,
      kind: 'uptime',
      secretSettings: { HTTPS_PROXY: { secret: 'proxy', key: 'address' } },
      extraEnv: [{ name: 'LOG_LEVEL', value: 'debug' }],
      extraVolumes: [{ name: 'extra', emptyDir: {} }],
      extraVolumeMounts: [{ name: 'extra', mountPath: '/extra' }],
      serviceAccount: { annotations: { 'eks.amazonaws.com/role-arn': 'arn:aws:iam::1:role/picket' } },
      networkPolicy: {
        ingressFrom: [{ namespaceSelector: { matchLabels: { name: 'monitoring' } } }],
        extraEgress: [
          { to: [{ ipBlock: { cidr: '169.254.169.254/32' } }], ports: [{ port: 80, protocol: 'TCP' }] },
        ],
      },
      podMonitor: { enabled: true, interval: '15s', labels: { release: 'prometheus' } },
    },
    service: {
      enabled: true,
      secretSettings: { S3_SECRET_ACCESS_KEY: { secret: 'bucket', key: 'secret-key' } },
      extraEnv: [{ name: 'LOG_LEVEL', value: 'debug' }],
      extraVolumes: [{ name: 'extra', emptyDir: {} }],
      extraVolumeMounts: [{ name: 'extra', mountPath: '/extra' }],
      serviceAccount: { annotations: { 'iam.gke.io/gcp-service-account': 'picket@example.com' } },
      networkPolicy: { ingressFrom: [{ podSelector: {} }] },
      serviceMonitor: { enabled: true, tokenSecret: 'token', labels: { release: 'prometheus' } },
    },
  },
  'an account that exists': {
    agent: { ...agent, serviceAccount: { create: false, name: 'picket' } },
  },
  "volumes of one's own": {
    agent: { enabled: false },
    service: { enabled: true, persistence: { storageClass: 'fast', size: '50Gi' } },
  },
  'a volume that is there': {
    agent: { enabled: false },
    service: { enabled: true, persistence: { existingClaim: 'picket-data' } },
  },
};

/** Values that must not render, with the error message. */
export const wrongValues: readonly { readonly values: Values; readonly says: RegExp }[] = [
  { values: { agent: { existingSecret: 'key' } }, says: /serviceUrl/ },
  { values: { agent: { serviceUrl: 'http://picket' } }, says: /existingSecret or agent\.apiKey/ },
  { values: { agent: { ...agent, autoscaling: { enabled: true } } }, says: /autoscaling\.location/ },
  { values: { agent: { enabled: false }, service: { enabled: true, replicas: 2 } }, says: /PostgreSQL/ },
];

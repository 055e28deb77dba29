/**
 * The arrows of docs/explanation/architecture.md, checked: lib <- probes, sandbox <- checks <- channels <- protocol <- agent | platform <- service <- console <- server <- cli.
 * A folder may import the folders named for it here and itself; everything else is an error.
 */
const mayImport = {
  lib: [],
  probes: ['lib'],
  // What scripts connect to is judged as what probes do.
  sandbox: ['lib', 'probes/egress'],
  checks: ['lib', 'probes', 'sandbox'],
  // Templates of webhooks are those of checks.
  channels: ['lib', 'checks'],
  protocol: ['lib', 'checks', 'channels'],
  agent: ['lib', 'probes', 'sandbox', 'checks', 'protocol'],
  // The egress policy is rules about addresses: what the service calls for people has to keep to it too.
  platform: ['lib', 'checks', 'channels', 'protocol', 'probes/egress'],
  service: ['lib', 'checks', 'channels', 'protocol', 'platform', 'probes/egress'],
  // Pages are a client of the service's operations.
  console: ['lib', 'checks', 'channels', 'protocol', 'platform', 'service'],
  server: ['lib', 'protocol', 'platform', 'service', 'console'],
};

/** What may be left out: a package loads an extra with import(), where it is configured. Extras import packages, and no other extra. */
const mayLoad = {
  checks: ['agentic'],
  platform: ['nats'],
  service: ['clickhouse', 'live-mqtt', 'mcp', 'model-analyst', 'telemetry'],
  cli: ['importers'],
};
const extras = Object.values(mayLoad).flat();

const arrows = Object.entries(mayImport).map(([folder, below]) => ({
  name: `arrow-${folder}`,
  comment: `src/${folder} may import only ${[...below, folder].map((name) => `src/${name}`).join(', ')}`,
  severity: 'error',
  from: { path: `^src/${folder}/` },
  to: {
    path: '^(src|test|scripts)/',
    pathNot: `^src/(${[folder, ...below, ...(mayLoad[folder] ?? []).map((name) => `extras/${name}`)].join('|')})/`,
  },
}));

export default {
  forbidden: [
    ...arrows,
    ...extras.map((name) => ({
      name: `extra-${name}`,
      comment: 'An extra imports packages, and no other extra',
      severity: 'error',
      from: { path: `^src/extras/${name}/` },
      to: { path: '^(src/extras|src/(agent|console|server)|test|scripts)/', pathNot: `^src/extras/${name}/` },
    })),
    {
      name: 'extras-are-loaded',
      comment: 'A package loads an extra with import(), so that it works without it',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/extras/|\\.test\\.ts$' },
      to: { path: '^src/extras/', dependencyTypesNot: ['dynamic-import', 'type-only', 'type-import'] },
    },
    {
      name: 'src-stands-alone',
      comment: 'Shipped code never imports tests or scripts',
      severity: 'error',
      from: { path: '^src/' },
      to: { path: '^(test|scripts)/' },
    },
    // An extra imports the package that loads it.
    {
      name: 'no-circular',
      severity: 'error',
      from: { pathNot: '^src/extras/' },
      to: { circular: true, viaOnly: { pathNot: '^src/extras/' } },
    },
    {
      name: 'no-dev-dependency-in-src',
      comment: 'Shipped code imports only what the package.json of its own package names',
      severity: 'error',
      from: { path: '^src/', pathNot: '\\.test\\.ts$' },
      to: { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'] },
    },
    { name: 'not-resolvable', severity: 'error', from: {}, to: { couldNotResolve: true } },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    // A package has what its own package.json names, and types of development from that of the root.
    combinedDependencies: true,
    parser: 'swc',
    enhancedResolveOptions: {
      extensions: ['.ts', '.mjs', '.js'],
      exportsFields: ['exports'],
      conditionNames: ['import', 'require', 'node', 'default', 'types'],
    },
  },
};

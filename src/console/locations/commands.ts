import { createHash } from 'node:crypto';
import { packageVersion } from '@picket/lib/version.ts';
import { fromContainer, type ServiceAddress } from './address.ts';

/** An agent to start: its location's key, the address of the service, and a name. */
export interface AgentToStart {
  readonly key: string;
  readonly service: ServiceAddress;
  /** Letters, digits and dashes; the agent appears under this name. */
  readonly name: string;
}

/** One of several ways to start an agent: texts to copy in their order. */
export interface StartCommand {
  readonly id: string;
  readonly title: string;
  readonly steps: readonly {
    readonly says: string;
    readonly text: string;
    /** A file to save instead of a command to run. */
    readonly file?: string;
  }[];
}

/** The port of npm start's own agent is taken on the service's machine. */
const otherHealthPort = 8082;
const images = { uptime: 'picket-uptime', full: 'picket' } as const;

/** Commands that start an agent, the easiest first. Each works as it is, in a folder with Picket where it says so. */
export function startCommands(agent: AgentToStart): StartCommand[] {
  return [docker(agent), compose(agent), kubernetes(agent), debian(agent), systemd(agent), npm(agent)];
}

function docker(agent: AgentToStart): StartCommand {
  const { service } = agent;
  const host = service.isLoopback ? ' on Linux' : '';
  return {
    id: 'docker',
    title: 'Docker',
    steps: [
      {
        says: 'Once, in a folder with Picket: build the image.',
        text: `docker build -t ${images.uptime}:${packageVersion()} -f Dockerfile.uptime .`,
      },
      {
        says: `Start the agent${host}, for URL, DNS, domain, TCP, UDP, SQL, SSL, gRPC, WebSocket, ICMP, traceroute and NTP monitors.`,
        text: dockerRun(agent, images.uptime),
      },
      ...(service.isLoopback
        ? [
            {
              says: 'With Docker Desktop on macOS or Windows, which has another name for this machine:',
              text: dockerRun(
                { ...agent, service: { url: fromContainer(service), isLoopback: false } },
                images.uptime,
              ),
            },
          ]
        : []),
      {
        says: `Or${host} the large agent, which also runs API and browser checks, scripts and suites. Build its image first: docker build -t ${images.full}:${packageVersion()} .`,
        text: dockerRun(agent, images.full),
      },
    ],
  };
}

function dockerRun(
  { key, service, name }: AgentToStart,
  image: (typeof images)[keyof typeof images],
): string {
  return [
    `docker run -d --name picket-${name} --restart unless-stopped`,
    '--read-only --tmpfs /tmp --cap-drop ALL --security-opt no-new-privileges',
    ...(image === images.full
      ? [
          '--tmpfs /var/tmp:mode=1777,size=2g --memory 3g --pids-limit 1024 --stop-timeout 330',
          '--security-opt seccomp=deploy/seccomp/picket.json',
        ]
      : []),
    // A container's own loopback address is not the host's.
    ...(service.isLoopback ? [`--network host -e AGENT_HEALTH_PORT=${otherHealthPort}`] : []),
    `-v picket-${name}:/var/spool/picket -e SPOOL_DIR=/var/spool/picket`,
    `-e API_KEY=${key} -e AGENT_ID=${name} -e SERVICE_URL=${service.url}`,
    `${image}:${packageVersion()}`,
  ].join(' \\\n  ');
}

function compose(agent: AgentToStart): StartCommand {
  return {
    id: 'compose',
    title: 'Compose',
    steps: [
      {
        says: 'Once, in a folder with Picket: build the image.',
        text: `docker build -t ${images.uptime}:${packageVersion()} -f Dockerfile.uptime .`,
      },
      {
        says: 'Save this file as compose.yaml in a folder of its own.',
        text: composeFile(agent),
        file: 'compose.yaml',
      },
      { says: 'Start the agent there.', text: 'docker compose up -d' },
    ],
  };
}

function composeFile({ key, service, name }: AgentToStart): string {
  const network = service.isLoopback
    ? `    # On this machine the service listens on its own address only. Docker Desktop: ${fromContainer(service)}
    network_mode: host
`
    : '';
  const port = service.isLoopback ? `      AGENT_HEALTH_PORT: "${otherHealthPort}"\n` : '';
  return `name: picket-${name}
services:
  agent:
    image: ${images.uptime}:${packageVersion()}
    restart: unless-stopped
    read_only: true
    cap_drop: [ALL]
    security_opt: [no-new-privileges:true]
${network}    environment:
      API_KEY: ${key}
      AGENT_ID: ${name}
      SERVICE_URL: ${service.url}
      SPOOL_DIR: /var/spool/picket
${port}    tmpfs: [/tmp]
    volumes: [spool:/var/spool/picket]
    stop_grace_period: 330s
volumes:
  spool: {}`;
}

function kubernetes(agent: AgentToStart): StartCommand {
  const { service, name } = agent;
  const note = service.isLoopback
    ? ` Pods do not reach ${service.url}: replace it by an address of the service in your network (of one that runs in the cluster as deploy/kubernetes has it: http://picket-service.picket:8080).`
    : '';
  return {
    id: 'kubernetes',
    title: 'Kubernetes',
    steps: [
      {
        says: `Creates a namespace, a secret and two agents. Your nodes need the image ${images.uptime}:${packageVersion()}.${note}`,
        text: `kubectl apply -f - <<'EOF'\n${manifests(agent)}\nEOF`,
      },
      {
        says: 'Or with Helm, in a folder with Picket:',
        text: [
          `helm upgrade --install ${name} deploy/helm/picket -n picket --create-namespace`,
          `--set agent.kind=uptime --set agent.serviceUrl=${service.url}`,
          `--set agent.apiKey=${agent.key}`,
        ].join(' \\\n  '),
      },
    ],
  };
}

function manifests({ key, service, name }: AgentToStart): string {
  const labels = `{ app.kubernetes.io/name: picket, app.kubernetes.io/instance: ${name} }`;
  return `apiVersion: v1
kind: Namespace
metadata:
  name: picket
  labels: { pod-security.kubernetes.io/enforce: restricted }
---
apiVersion: v1
kind: Secret
metadata: { name: picket-${name}, namespace: picket }
stringData: { api-key: ${key} }
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: picket-${name}
  namespace: picket
  labels: ${labels}
spec:
  replicas: 2
  selector:
    matchLabels: ${labels}
  template:
    metadata:
      labels: ${labels}
      annotations: { checksum/location-key: ${checksumOf(key)} }
    spec:
      automountServiceAccountToken: false
      enableServiceLinks: false
      terminationGracePeriodSeconds: 60
      securityContext:
        runAsNonRoot: true
        runAsUser: 10001
        runAsGroup: 10001
        fsGroup: 10001
        seccompProfile: { type: RuntimeDefault }
        sysctls:
          - { name: net.ipv4.ping_group_range, value: "0 2147483647" }
      containers:
        - name: agent
          image: ${images.uptime}:${packageVersion()}
          args: [agent]
          env:
            - { name: SERVICE_URL, value: "${service.url}" }
            - { name: API_KEY_FILE, value: /run/picket/location-key/api-key }
            - { name: SPOOL_DIR, value: /var/spool/picket }
            - { name: SHUTDOWN_GRACE_SECONDS, value: "30" }
          ports:
            - { name: health, containerPort: 8081 }
          startupProbe:
            httpGet: { path: /-/liveness, port: health }
            periodSeconds: 1
            failureThreshold: 120
          readinessProbe:
            httpGet: { path: /-/readiness, port: health }
            periodSeconds: 5
            timeoutSeconds: 3
            failureThreshold: 2
          livenessProbe:
            httpGet: { path: /-/liveness, port: health }
            periodSeconds: 10
            timeoutSeconds: 5
            failureThreshold: 6
            terminationGracePeriodSeconds: 30
          securityContext:
            allowPrivilegeEscalation: false
            readOnlyRootFilesystem: true
            capabilities: { drop: [ALL] }
          resources:
            requests: { cpu: 50m, memory: 128Mi }
            limits: { memory: 384Mi }
          volumeMounts:
            - { name: tmp, mountPath: /tmp }
            - { name: spool, mountPath: /var/spool/picket }
            - { name: location-key, mountPath: /run/picket/location-key, readOnly: true }
      volumes:
        - { name: tmp, emptyDir: { sizeLimit: 1Gi } }
        - { name: spool, emptyDir: { sizeLimit: 2Gi } }
        - { name: location-key, secret: { secretName: picket-${name}, defaultMode: 0440 } }`;
}

/** Agents read their key when they start. A new key changes this, and so replaces the pods. */
function checksumOf(key: string): string {
  return createHash('sha256').update(key).digest('hex');
}

function debian({ key, service, name }: AgentToStart): StartCommand {
  const settings = {
    SERVICE_URL: service.url,
    API_KEY: key,
    AGENT_ID: name,
    ...(service.isLoopback ? { AGENT_HEALTH_PORT: otherHealthPort } : {}),
  };
  const lines = Object.entries(settings).map(([variable, value]) => `${variable}=${value}`);
  // Debian sorts a tilde before the release.
  const version = packageVersion().replace('-', '~');
  return {
    id: 'debian',
    title: 'Debian',
    steps: [
      { says: 'Once, in a folder with Picket: build the package.', text: 'npm run packages' },
      {
        says: 'Install it. It brings its own Node, and needs nothing else.',
        text: `sudo dpkg -i packages/picket-agent_${version}_$(dpkg --print-architecture).deb`,
      },
      {
        says: 'Add the settings of this agent. Later lines win.',
        text: `sudo tee -a /etc/picket/agent.env >/dev/null <<'EOF'\n${lines.join('\n')}\nEOF`,
      },
      { says: 'Start it, now and after each boot.', text: 'sudo systemctl enable --now picket-agent' },
      { says: 'Does it work there?', text: 'sudo picket doctor' },
    ],
  };
}

function systemd(agent: AgentToStart): StartCommand {
  const { key, name } = agent;
  const unit = `picket-${name}`;
  return {
    id: 'systemd',
    title: 'systemd',
    steps: [
      {
        says: 'Store the key, readable by root only.',
        text: `sudo install -d -m 700 /etc/picket
printf %s ${key} | sudo install -m 600 /dev/stdin /etc/picket/${name}.key`,
      },
      {
        says: `Create the service. It expects Picket in /opt/picket, installed with npm run picket -- --help.`,
        text: `sudo tee /etc/systemd/system/${unit}.service <<'EOF'\n${unitFile(agent)}\nEOF`,
      },
      { says: 'Start it, now and after each boot.', text: `sudo systemctl enable --now ${unit}` },
    ],
  };
}

function unitFile({ service, name }: AgentToStart): string {
  const port = service.isLoopback ? `\nEnvironment=AGENT_HEALTH_PORT=${otherHealthPort}` : '';
  return `[Unit]
Description=Picket agent ${name}
Wants=network-online.target
After=network-online.target

[Service]
WorkingDirectory=/opt/picket
ExecStart=/usr/bin/env npm run --silent picket -- agent
LoadCredential=key:/etc/picket/${name}.key
Environment=API_KEY_FILE=%d/key
Environment=AGENT_ID=${name}
Environment=SERVICE_URL=${service.url}${port}
Environment=SPOOL_DIR=%S/picket-${name} HOME=%S/picket-${name}
StateDirectory=picket-${name}
DynamicUser=yes
Restart=always
RestartSec=5
KillMode=mixed
TimeoutStopSec=330

[Install]
WantedBy=multi-user.target`;
}

function npm({ key, service, name }: AgentToStart): StartCommand {
  return {
    id: 'npm',
    title: 'npm',
    steps: [
      {
        says: 'In a folder with Picket. The agent runs until you press Ctrl-C.',
        text: [
          `API_KEY=${key} AGENT_ID=${name}`,
          `SERVICE_URL=${service.url} AGENT_HEALTH_PORT=0`,
          'npm run picket -- agent',
        ].join(' \\\n  '),
      },
    ],
  };
}

import { packageVersion } from '@picket/lib/version.ts';
import type { FastifyRequest } from 'fastify';
import { type Html, html } from '../html.ts';

/** Shows the commands that start an agent; they contain the key. */
export function startCommands(request: FastifyRequest, rawKey: string): Html {
  const url = addressOf(request);
  const docker = (image: string, more: readonly string[]) =>
    [
      'docker run -d --name picket-agent --restart unless-stopped \\',
      '  --read-only --tmpfs /tmp --cap-drop ALL --security-opt no-new-privileges \\',
      ...more.map((line) => `  ${line} \\`),
      `  -e API_KEY=${rawKey} -e SERVICE_URL=${url} \\`,
      `  ${image}:${packageVersion()}`,
    ].join('\n');
  const npm = `API_KEY=${rawKey} SERVICE_URL=${url} npm run picket -- agent`;
  return html`<h3>With Docker: URL, DNS, TCP, UDP, SSL, gRPC, WebSocket, ICMP and traceroute monitors</h3>
${command('Docker command of the small agent', docker('picket-uptime', []))}
<h3>With Docker: every type, with browser and scripts</h3>
${command(
  'Docker command of the full agent',
  docker('picket', [
    '--tmpfs /var/tmp:mode=1777,size=2g --memory 3g --pids-limit 1024 --stop-timeout 330',
    '--security-opt seccomp=deploy/seccomp/picket.json',
  ]),
)}
<h3>With npm, in a folder with Picket</h3>
${command('npm command', npm)}
<p class="hint"><code>picket doctor</code> with the same two settings shows what is missing on the host.</p>`;
}

function command(label: string, text: string): Html {
  return html`<pre class="command selectable" tabindex="0" role="region" aria-label="${label}">${text}</pre>`;
}

/** Address at which the browser reached the service: agents on the same network reach it too. */
function addressOf({ protocol, host }: FastifyRequest): string {
  const url = URL.parse(`${protocol}://${host}`);
  return url && /^[\w.:[\]-]+$/.test(url.host) ? url.origin : 'https://picket.example.com';
}

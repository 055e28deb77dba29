/**
 * HEALTHCHECK of the images: `node health-probe.js [agent|service]`. Exit code 0 if the agent is alive, or the service
 * is ready; without an argument either suffices. An agent that cannot reach its service is not broken, so its readiness
 * does not count here. It loads no modules, because it is started repeatedly.
 */
// Not imported as a module: that would load the WebSocket of Node's undici, 45 ms of CPU in each thread.
const http = process.getBuiltinModule('node:http');

const timeoutMs = 4000;
const roles: Readonly<Record<string, { readonly port: string; readonly path: string }>> = {
  agent: { port: process.env.AGENT_HEALTH_PORT ?? '8081', path: '/-/liveness' },
  service: { port: process.env.PORT ?? '8080', path: '/-/readiness' },
};

const role = process.argv[2];
const asked = Object.entries(roles).filter(([name]) => role === undefined || role === name);
const answers = await Promise.all(asked.map(([, { port, path }]) => answersOk(port, path)));
process.exit(answers.includes(true) ? 0 : 1);

function answersOk(port: string, path: string): Promise<boolean> {
  return new Promise((resolve) => {
    http
      .get({ host: '127.0.0.1', port, path, timeout: timeoutMs, agent: false }, (response) => {
        response.resume();
        resolve(response.statusCode === 200);
      })
      .on('error', () => resolve(false))
      .on('timeout', () => resolve(false));
  });
}

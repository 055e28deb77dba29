import { systemClock } from '@picket/lib/clock.ts';
import { createLogger } from '@picket/lib/log.ts';
import type { Deployment } from '@picket/protocol/projects/project.ts';
import { fastify } from 'fastify';
import { expect, it } from 'vitest';
import { sendEvents } from './events.ts';

const running: Deployment = {
  id: '7d2c6c52-3a43-4f35-9c6d-0c7ad9f7f6f4',
  logicalId: 'shop',
  status: 'RUNNING',
  dryRun: false,
  progress: 40,
  error: null,
  result: null,
  createdAt: '2026-11-01T00:00:00.000Z',
  startedAt: '2026-11-01T00:00:00.000Z',
  endedAt: null,
  cancelRequestedAt: null,
};

it('ends the events when the deployment can no longer be read, so that the reader retries', async () => {
  const lines: string[] = [];
  const logger = createLogger('test', 'info', { write: (line) => void lines.push(line) });
  const looks = [async () => running, async () => Promise.reject(new Error('the database is away'))];
  const app = fastify();
  app.get('/events', async (request, reply) => {
    const look = async () => (looks.shift() ?? (() => Promise.reject(new Error('asked again'))))();
    await sendEvents(reply, { look, progress: () => 40, clock: systemClock, logger, stop: request.signal });
  });
  const url = await app.listen({ port: 0, host: '127.0.0.1' });
  try {
    const response = await fetch(`${url}/events`);
    expect(response.status).toBe(200);
    expect(await response.text()).toBe('event: progress\ndata: {"progress":40}\n\n');
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { deploymentId: running.id, reason: 'the database is away', msg: 'events of a deployment ended early' },
    ]);
  } finally {
    await app.close();
  }
});

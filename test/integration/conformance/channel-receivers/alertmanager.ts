import { z } from 'zod';
import { type DocumentedReceiver, jsonBody } from './receiver.ts';

const labels = z.record(z.string().regex(/^[a-zA-Z_][a-zA-Z0-9_]*$/), z.string());
const Alerts = z.tuple([
  z.strictObject({
    labels: labels.refine((set) => (set.alertname ?? '') !== '', 'without a name'),
    annotations: labels,
    startsAt: z.iso.datetime(),
    endsAt: z.iso.datetime(),
    generatorURL: z.url().optional(),
  }),
]);

export const receiver: DocumentedReceiver = {
  config: (url) => ({ url: `${url}/am/`, username: 'u', password: 'p', labels: { team: 'shop' } }),
  accepted: { status: 200, body: '' },
  incident: (request) => JSON.stringify(Object.entries(Alerts.parse(jsonBody(request))[0].labels).sort()),
  check(request) {
    if (request.path !== '/am/api/v2/alerts') throw new Error(request.path);
    if (request.headers.authorization !== `Basic ${btoa('u:p')}`) throw new Error('no password');
    const [{ startsAt, endsAt, labels: set }] = Alerts.parse(jsonBody(request));
    if (endsAt < startsAt) throw new Error('it ends before it starts');
    if (set.team !== 'shop') throw new Error('a label is missing');
  },
  shown(request) {
    const [{ annotations }] = Alerts.parse(jsonBody(request));
    return `${annotations.summary}\n${annotations.description}`;
  },
};

import type { HttpReceiver, MailReceiver } from '../service/alert-receivers.ts';
import { samplesIn } from '../service/remote-write-samples.ts';
import type { Said, Watched } from './said.ts';

/** Receivers of the service's messages about checks. */
export interface Receivers {
  /** Receives from a webhook with `alertTemplate`. */
  readonly alerts: HttpReceiver;
  readonly mails: MailReceiver;
  readonly samples: HttpReceiver;
}

export const alertTemplate = '{"type":"{{ALERT_TYPE}}","checkId":"{{CHECK_ID}}"}';

/**
 * The states in all messages so far: an alert or mail about a failure counts forever, of metrics only the newest
 * sample.
 */
export function sentStates(
  { alerts, mails, samples }: Receivers,
  { names }: Watched,
): Readonly<Record<string, Map<string, Said>>> {
  const failing = (ids: readonly string[]) => new Map(ids.map((id) => [id, 'failing'] as const));
  const told: { type: string; checkId: string }[] = alerts.received.map(({ body }) => JSON.parse(body));
  const subjects = mails.received.map(({ source }) => /^Subject: (.*(?:\r\n .*)*)/m.exec(source)?.[1] ?? '');
  const bad = subjects.filter((subject) => /fail|degraded|flapping|recovered|burn/.test(subject));
  return {
    webhook: failing(
      told
        .filter(({ type }) => /FAILURE|DEGRADED|RECOVERY|FLAPPING|BURN/.test(type))
        .map(({ checkId }) => checkId),
    ),
    mail: failing(
      [...names].flatMap(([id, name]) => (bad.some((subject) => subject.includes(name)) ? [id] : [])),
    ),
    'remote write': writtenStates(samples),
  };
}

function writtenStates({ received }: HttpReceiver): Map<string, Said> {
  const said = new Map<string, Said>();
  // Every body is read again each time: there is one per minute.
  for (const { bytes } of received) {
    for (const { name, labels, isStale } of samplesIn(bytes)) {
      if (name !== 'picket_check_state' || isStale) continue;
      said.set(labels['check'] ?? '', (labels['state'] ?? null) as Said);
    }
  }
  return said;
}

import { type ChannelType, channelKinds } from '../../../src/channels/index.ts';
import { type AlertMessage, channelMessage } from '../../../src/service/alerts/delivery/message.ts';
import type { AlertFacts } from '../../../src/service/alerts/facts.ts';
import {
  documentedReceivers,
  receiverSettings,
} from '../../integration/conformance/channel-receivers/index.ts';

/** The alert text in each kind of channel, mails included. */
export function channelTexts(
  facts: AlertFacts,
  more: Partial<AlertMessage> = {},
): ReadonlyMap<ChannelType, string> {
  const alert = channelMessage({
    ...{ id: 'c0ffee00-0000-4000-8000-000000000001', alertId: 'a1', accountId: 'a', created: 0, facts },
    ...{ type: 'ALERT_FAILURE', notice: 'failure', checkId: '7e5f0000-0000-4000-8000-000000000002' },
    ...{ resultId: 'r1', resultLink: null, pageLink: null, ...more },
  });
  return new Map(
    channelKinds.flatMap((kind): (readonly [ChannelType, string])[] => {
      if (kind.sender.kind === 'mail') {
        const { subject, text } = kind.sender.mail(kind.config.parse(kind.sample), alert);
        return [[kind.type, `${subject}\n${text}`]];
      }
      const receiver = documentedReceivers[kind.type];
      // The template of a webhook decides its text, so the variables are used.
      if (!receiver || kind.sender.kind !== 'http') return [[kind.type, JSON.stringify(alert.variables)]];
      const config = kind.config.parse(receiver.config('http://receiver.test'));
      const [request] = kind.sender.requests(
        config as never,
        alert,
        receiverSettings('http://receiver.test'),
      );
      if (!request) throw new Error(`${kind.type} sends nothing`);
      const { pathname, search } = new URL(request.url);
      const headers = Object.fromEntries(request.headers.map(([key, value]) => [key.toLowerCase(), value]));
      const { method, body } = request;
      return [
        [kind.type, receiver.shown({ method, path: `${pathname}${search}`, headers, body: body ?? '' })],
      ];
    }),
  );
}

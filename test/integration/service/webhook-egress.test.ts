import { expect, it } from 'vitest';
import { ServiceConfig } from '../../../src/platform/config/config.ts';
import { OutboundHttp } from '../../../src/platform/outbound/outbound-http.ts';
import { notificationPolicy } from '../../../src/service/alerts/delivery/configured-notifier.ts';
import { startHttpReceiver } from '../../helpers/service/alert-receivers.ts';

const spellings = ['127.0.0.1', '[::1]', 'localhost', '127.1', '2130706433', '0.0.0.0', '[::ffff:127.0.0.1]'];

it('does not send notifications to loopback unless a rule opens it', async () => {
  const receiver = await startHttpReceiver();
  const { port } = new URL(receiver.url);
  const sendTo = async (host: string, settings: object) => {
    const outlet = new OutboundHttp(notificationPolicy(ServiceConfig.parse(settings)));
    const request = { url: `http://${host}:${port}/`, method: 'POST', headers: [], body: '{}' };
    const delivery = await outlet.send(request);
    await outlet.close();
    return delivery;
  };
  try {
    for (const host of spellings) {
      const refused = { isDelivered: false, isRetryable: false };
      expect(await sendTo(host, {}), host).toMatchObject(refused);
    }
    expect((await sendTo('127.0.0.1', {})).result).toContain('loopback addresses are closed by default');
    expect(receiver.received).toEqual([]);
    expect(await sendTo('127.0.0.1', { EGRESS_ALLOW: '127.0.0.1' })).toMatchObject({ isDelivered: true });
  } finally {
    await receiver.close();
  }
});

import { alertChannelRoutes } from '@picket/protocol/alerts/alert-channel.ts';
import type { Run } from './command.ts';
import { table } from './text.ts';

/** `picket channel list` */
export const listChannels: Run = async (api) => {
  const channels = await api.all(alertChannelRoutes.listAlertChannels);
  const lines = (width: number) =>
    channels.length === 0
      ? ['There are no alert channels, so no notifications are sent.']
      : table(
          ['ID', 'TYPE', 'SUBSCRIPTIONS', 'NAME', 'WARNING'],
          channels.map((channel) => [
            String(channel.id),
            channel.type,
            String(channel.subscriptions.length),
            nameOf(channel.config),
            channel.warnings[0]?.message ?? '',
          ]),
          width,
        );
  return { json: channels, lines };
};

/** `picket channel test ID` */
export const testChannel: Run = async (api, [id = '']) => {
  const test = await api.call(alertChannelRoutes.testAlertChannel, { params: { id } });
  const isWell = test.status === 'SUCCESS';
  const words = isWell ? 'arrived' : test.status === 'IN_PROGRESS' ? 'is still being retried' : 'failed';
  const said = test.result === null ? '' : `: ${test.result}`;
  return { json: test, lines: () => [`The test ${words}${said}.`], exitCode: isWell ? 0 : 1 };
};

function nameOf(config: object): string {
  const fields = config as Readonly<Record<string, unknown>>;
  const name = [fields.name, fields.address, fields.channel, fields.serviceName].find(
    (one) => typeof one === 'string' && one !== '',
  );
  return typeof name === 'string' ? name : '';
}

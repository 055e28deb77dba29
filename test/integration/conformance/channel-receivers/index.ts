import type { ChannelType } from '../../../../src/channels/index.ts';
import { receiver as alertmanager } from './alertmanager.ts';
import { receiver as discord } from './discord.ts';
import { receiver as googleChat } from './google-chat.ts';
import { receiver as incidentIo } from './incident-io.ts';
import { receiver as ntfy } from './ntfy.ts';
import { receiver as opsgenie } from './opsgenie.ts';
import { receiver as pagerDuty } from './pagerduty.ts';
import { call, callProvider, sms, smsProvider } from './phone.ts';
import type { DocumentedReceiver } from './receiver.ts';
import { receiver as slack } from './slack.ts';
import { receiver as slackApp } from './slack-app.ts';
import { receiver as teams } from './teams.ts';
import { receiver as telegram } from './telegram.ts';

/** The receivers of all channels that speak to a service with a shape of its own. */
export const documentedReceivers: Partial<Record<ChannelType, DocumentedReceiver>> = {
  SLACK: slack,
  SLACK_APP: slackApp,
  PAGERDUTY: pagerDuty,
  OPSGENIE: opsgenie,
  SMS: sms,
  CALL: call,
  MSTEAMS: teams,
  TELEGRAM: telegram,
  DISCORD: discord,
  NTFY: ntfy,
  GOOGLE_CHAT: googleChat,
  INCIDENT_IO: incidentIo,
  ALERTMANAGER: alertmanager,
};

/** The settings that lead all of them to one server. */
export function receiverSettings(url: string) {
  return {
    PAGERDUTY_URL: url,
    OPSGENIE_URL: url,
    TELEGRAM_URL: url,
    SLACK_URL: url,
    SMS_PROVIDER: smsProvider(url),
    CALL_PROVIDER: callProvider(url),
  };
}

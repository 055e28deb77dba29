import type { ChannelSettings } from '@picket/channels/contract/channel.ts';
import type { ServiceConfig } from '@picket/platform/config/config.ts';
import { OutboundHttp } from '@picket/platform/outbound/outbound-http.ts';
import { createEgressPolicy, type EgressPolicy } from '@picket/probes/egress/policy.ts';
import type { MailServer } from '../../mail/mail-server.ts';
import { Notifier, type NotifierOptions } from './notifier.ts';

/** Settings that alerting needs. */
export type AlertingConfig = Pick<
  ServiceConfig,
  'EGRESS_ALLOW' | 'EGRESS_DENY' | 'ALERTS_PER_MINUTE' | 'PUBLIC_URL' | 'PAGES'
> &
  ChannelSettings;

/** Egress policy for notifications. */
export function notificationPolicy(
  config: Pick<ServiceConfig, 'EGRESS_ALLOW' | 'EGRESS_DENY'>,
): EgressPolicy {
  return createEgressPolicy({
    allow: config.EGRESS_ALLOW,
    deny: config.EGRESS_DENY,
    ownPorts: [],
    // Services that listen there often trust every caller, and authors of channels do not belong to this host.
    isLoopbackClosed: true,
  });
}

/** The notifier with the outlets that the settings name. */
export function configuredNotifier({
  config,
  mail,
  ...parts
}: Pick<NotifierOptions, 'store' | 'clock' | 'logger' | 'metrics' | 'asksModel'> & {
  readonly config: AlertingConfig;
  readonly mail?: MailServer | undefined;
}): Notifier {
  return new Notifier({
    store: parts.store,
    clock: parts.clock,
    logger: parts.logger,
    metrics: parts.metrics,
    asksModel: parts.asksModel,
    outlets: {
      http: new OutboundHttp(notificationPolicy(config)),
      mail,
      settings: config,
    },
    publicUrl: config.PUBLIC_URL,
    hasPages: config.PAGES === 'on',
    maxPerMinute: config.ALERTS_PER_MINUTE,
  });
}

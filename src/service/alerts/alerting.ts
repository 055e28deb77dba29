import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import { createEgressPolicy } from '../../probes/egress/policy.ts';
import type { ServiceConfig } from '../config.ts';
import type { MailServer } from '../mail/mail-server.ts';
import type { Store } from '../store/store.ts';
import { Notifier } from './delivery/notifier.ts';
import { OutboundHttp } from './delivery/outbound-http.ts';
import { AlertTimers } from './timers.ts';

/** The settings that alerting needs. */
export type AlertingConfig = Pick<
  ServiceConfig,
  'EGRESS_ALLOW' | 'EGRESS_DENY' | 'PAGERDUTY_URL' | 'OPSGENIE_URL' | 'ALERTS_PER_MINUTE' | 'PUBLIC_URL'
>;

/** What makes alerts go out: the timers and the notifier, with their ways out of the service. */
export class Alerting {
  readonly #timers: AlertTimers;
  readonly #notifier: Notifier;
  readonly #http: OutboundHttp;

  constructor(options: {
    readonly store: Store;
    readonly clock: Clock;
    readonly logger: Logger;
    readonly config: AlertingConfig;
    /** Absent where no mail server is configured; whoever made it closes it. */
    readonly mail?: MailServer | undefined;
  }) {
    const { store, clock, logger, config, mail } = options;
    this.#http = new OutboundHttp(
      createEgressPolicy({ allow: config.EGRESS_ALLOW, deny: config.EGRESS_DENY, ownPorts: [] }),
    );
    this.#timers = new AlertTimers({ store, clock, logger });
    this.#notifier = new Notifier({
      store,
      clock,
      logger,
      outlets: {
        http: this.#http,
        mail,
        pagerDutyUrl: config.PAGERDUTY_URL,
        opsgenieUrl: config.OPSGENIE_URL,
      },
      publicUrl: config.PUBLIC_URL,
      maxPerMinute: config.ALERTS_PER_MINUTE,
    });
  }

  start(): void {
    this.#timers.start();
    this.#notifier.start();
  }

  /** Lets notifications under way end, and closes what they used. */
  async stop(): Promise<void> {
    await this.#timers.stop();
    await this.#notifier.stop();
    await this.#http.close();
  }
}

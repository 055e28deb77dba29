import type { Feature, RepositoriesOf } from '@picket/platform/feature/feature.ts';
import { configuredMailServer, type MailServer } from './mail-server.ts';
import { SubscriberMails } from './store.ts';
import { SubscriberNotifier } from './subscriber-notifier.ts';

const repositories = { subscriberMails: SubscriberMails };

export const mail: Feature = {
  name: 'mail',
  repositories,
  parts: {
    mailServer: ({ config }, closing) => {
      const server = configuredMailServer(config);
      if (server) closing.defer(() => server.close());
      return server;
    },
    mail: ({ mailServer }) => mailServer,
    hasMailer: ({ mailServer }) => mailServer !== undefined,
  },
  jobs: ({ mailServer, ...parts }) => {
    if (!mailServer) return [];
    const work = new SubscriberNotifier({ ...parts, mail: mailServer });
    return [{ name: 'subscriber notifier', leaderOnly: false, longestMs: 2_000, work }];
  },
};

declare module '@picket/platform/store/repositories.ts' {
  interface Repositories extends RepositoriesOf<typeof repositories> {}
}

declare module '@picket/platform/feature/parts.ts' {
  interface Parts {
    /** Undefined if no mail server is configured. */
    readonly mailServer: MailServer | undefined;
    /** Sends invitations and password links; undefined without a mail server. */
    readonly mail: Pick<MailServer, 'send'> | undefined;
    /** Whether mails to subscribers of status pages can be sent. */
    readonly hasMailer: boolean;
  }
}

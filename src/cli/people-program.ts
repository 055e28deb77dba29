import type { KeyRole } from '@picket/platform/ids/keys.ts';
import { type Command, Option } from 'commander';

const roles: readonly KeyRole[] = ['ADMIN', 'READ_WRITE', 'READ_RUN', 'READ_ONLY'];
const ofAccount = ['--account <id>', 'id of the account; optional if there is only one'] as const;

interface Options {
  readonly account?: string;
  readonly json?: boolean;
}

function roleOption(): Option {
  return new Option('--role <role>', 'role').choices(roles).default('READ_WRITE');
}

/** Adds the commands of `picket service` for members and the audit log. */
export function addPeopleCommands(service: Command, environment: NodeJS.ProcessEnv): void {
  const commands = () => import('./member-commands.ts');
  const members = service
    .command('members')
    .description('list, add, change and remove members of an account; safe while the service runs');

  members
    .command('list')
    .description('list members and invitations')
    .option(...ofAccount)
    .option('--json', 'print one JSON array')
    .action(async (options: Options) => (await commands()).listMembersCommand(environment, options));

  members
    .command('add')
    .description('add a member who logs in with single sign-on; see "invite" for passwords')
    .argument('<mail>', 'mail address')
    .addOption(roleOption())
    .option(...ofAccount)
    .option('--json', 'print one JSON object')
    .action(async (mail: string, options: Options & { readonly role: KeyRole }) =>
      (await commands()).addMemberCommand(environment, mail, options),
    );

  members
    .command('role')
    .description('change the role of a member, effective from the next request')
    .argument('<mail>', 'mail address')
    .addArgument(service.createArgument('<role>', 'role').choices([...roles]))
    .option(...ofAccount)
    .option('--json', 'print one JSON object')
    .action(async (mail: string, role: KeyRole, options: Options) =>
      (await commands()).setRoleCommand(environment, mail, role, options),
    );

  members
    .command('remove')
    .description('remove a member and end their sessions')
    .argument('<mail>', 'mail address')
    .option(...ofAccount)
    .option('--json', 'print one JSON object')
    .action(async (mail: string, options: Options) =>
      (await commands()).removeMemberCommand(environment, mail, options),
    );

  service
    .command('invite')
    .description('invite a member and print the link, which works once within a week')
    .argument('<mail>', 'mail address')
    .addOption(roleOption())
    .option(...ofAccount)
    .option('--json', 'print one JSON object')
    .action(async (mail: string, options: Options & { readonly role: KeyRole }) =>
      (await commands()).inviteCommand(environment, mail, options),
    );

  service
    .command('reset-password')
    .description('print a link to set a new password, which works once within an hour')
    .argument('<mail>', 'mail address')
    .option('--json', 'print one JSON object')
    .action(async (mail: string, options: Options) =>
      (await commands()).resetPasswordCommand(environment, mail, options),
    );

  service
    .command('audit')
    .description('print the audit log, newest first: changes and failed logins')
    .option('--account <id>', 'only of this account')
    .option('--resource <name>', 'only this object, such as checks/<id>')
    .option('--since <time>', 'only from this time: an ISO 8601 date or a Unix timestamp')
    .option('--limit <count>', 'at most this many', '50')
    .option('--json', 'print one JSON array')
    .action(
      async (
        options: Options & { readonly resource?: string; readonly since?: string; readonly limit?: string },
      ) => (await commands()).auditCommand(environment, options),
    );
}

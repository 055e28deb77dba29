import { accountRoutes } from '@picket/protocol/accounts/account.ts';
import { copyable } from '../elements/copy.ts';
import { bytes, counted, countText } from '../elements/format.ts';
import { facts } from '../elements/table.ts';
import { html } from '../html.ts';
import { heading } from '../layout.ts';
import type { PageCall, View } from '../page.ts';
import { accountTabs } from './tabs.ts';

/** Shows the stored data of the account and its retention. */
export async function showUsage({ api, viewer }: PageCall): Promise<View> {
  const account = await api.call(accountRoutes.getOwnAccount, {});
  const usage = await api.call(accountRoutes.getUsage, {});
  const { retentionDays: days } = usage;
  const main = html`${heading('Account')}${accountTabs('/account/usage', viewer)}
<section><h2>${account.name}</h2>${facts([
    ['Account', copyable(account.id, 'the id of the account')],
    ['Checks', `${countText(usage.checks)}, ${countText(usage.activeChecks)} of them active`],
    ['Private locations', countText(usage.privateLocations)],
    ['Members', countText(usage.members)],
    ['Results', countText(usage.results)],
    ['Files of runs', `${counted(usage.artifacts, 'file')}, ${bytes(usage.artifactBytes)}`],
    ['Code bundles', bytes(usage.codeBundleBytes)],
  ])}</section>
<section><h2>Kept for</h2>${facts([
    ['Results with their details', counted(days.results, 'day')],
    ['Files of runs', counted(days.artifacts, 'day')],
    ['Numbers for analytics', counted(days.analytics, 'day')],
    ['Audit log', counted(days.auditLog, 'day')],
  ])}<p class="hint">The operator of this service sets these periods: <code>RESULT_RETENTION_DAYS</code>, <code>ARTIFACT_RETENTION_DAYS</code>, <code>ANALYTICS_RETENTION_DAYS</code> and <code>AUDIT_RETENTION_DAYS</code>.</p></section>`;
  return { title: 'Usage', main };
}

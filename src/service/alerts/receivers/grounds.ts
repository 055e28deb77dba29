import { findCheckType } from '@picket/checks/index.ts';
import type { Repositories } from '@picket/platform/store/repositories.ts';
import type { Check } from '../../checks/store.ts';
import { locationsOf } from '../../checks/timing/slots.ts';
import type { OpenCause } from '../causes/open-cause.ts';
import type { AlertChannel } from '../channels/store.ts';
import { type AlertPolicy, alertPolicies } from '../policy.ts';
import { storedFacts } from '../raise.ts';
import { isOpen, parseState } from '../stored-state.ts';
import type { EndReason } from './end-reason.ts';
import type { ReceiverIncidentRow } from './tables.ts';

/** A test is normally ended together with its start. */
const testLastsMs = 10 * 60_000;

interface Known {
  readonly now: number;
  readonly channels: ReadonlyMap<number, AlertChannel>;
  readonly checks: ReadonlyMap<string, Check>;
  readonly policies: ReadonlyMap<string, AlertPolicy>;
  /** Checks that each channel is notified of, among those concerned. */
  readonly heard: ReadonlyMap<number, ReadonlySet<string>>;
  readonly causes: readonly OpenCause[];
  /** Checks in an episode that was notified at least in part. */
  readonly failing: ReadonlySet<string>;
  /** When the certificates of checks expire. */
  readonly certificates: ReadonlyMap<string, number | null>;
  readonly gaps: ReadonlySet<string>;
  readonly away: ReadonlySet<string>;
  readonly sick: ReadonlySet<string>;
  readonly outdated: ReadonlySet<string>;
  readonly locations: ReadonlySet<string>;
  readonly burning: ReadonlySet<string>;
}

/** Grounds of incidents at receivers: whether the condition behind each still holds. */
export class Grounds {
  readonly #known: Known;

  private constructor(known: Known) {
    this.#known = known;
  }

  static async load(
    repositories: Repositories,
    rows: readonly ReceiverIncidentRow[],
    now: number,
  ): Promise<Grounds> {
    const accountIds = [...new Set(rows.map((row) => row.account_id))];
    const of = (subject: string) =>
      rows.filter((row) => row.subject === subject).map((row) => row.filed_under);
    const causes = await repositories.alertCauses.open(accountIds);
    const members = causes.flatMap((cause) => cause.members.map(({ fact }) => fact.checkId));
    const ids = [...new Set([...of('check'), ...of('certificate'), ...of('gap'), ...members])];
    const policies = await alertPolicies(repositories, ids, now);
    const places = [...of('location'), ...of('sickness'), ...of('outdated')];
    const burns = of('slo').length === 0 ? [] : await repositories.sloBurns.all();
    return new Grounds({
      now,
      channels: await repositories.alertChannels.findMany(rows.map((row) => row.channel_id)),
      checks: await repositories.checks.findMany(ids),
      policies,
      heard: await heardBy(repositories, policies),
      causes,
      failing: await repositories.alerts
        .statesOfChecks(of('check'))
        .then((states) => new Set(states.filter((row) => isTold(row)).map((row) => row.check_id))),
      certificates: await repositories.alerts.certificatesOf(of('certificate')),
      gaps: await repositories.gaps.openAmong(
        of('gap'),
        rows.map((row) => row.alert_id),
      ),
      away: await repositories.locations.awayAmong(places),
      sick: await sickAmong(repositories, places, now),
      outdated: new Set((await repositories.locations.outdated()).keys()),
      locations: await repositories.locations.idsAmong(places),
      burning: new Set(burns.map((burn) => String(burn.slo_id))),
    });
  }

  channelOf(row: ReceiverIncidentRow): AlertChannel | undefined {
    return this.#known.channels.get(row.channel_id);
  }

  /** Why an incident no longer has grounds; null while it has. */
  lostBy(row: ReceiverIncidentRow): EndReason | null {
    const { now, away, sick, outdated, locations, burning } = this.#known;
    const id = row.filed_under;
    switch (row.subject) {
      case 'check':
        return this.#ofCheck(row);
      case 'certificate':
        return this.#ofCertificate(row);
      case 'gap':
        return this.#ofGap(row);
      case 'location':
        return !locations.has(id) ? 'location-deleted' : away.has(id) ? null : 'over';
      case 'sickness':
        return !locations.has(id) ? 'location-deleted' : sick.has(id) ? null : 'over';
      case 'outdated':
        return !locations.has(id) ? 'location-deleted' : outdated.has(id) ? null : 'over';
      case 'slo':
        return burning.has(id) ? null : 'over';
      case 'test':
        return now - row.opened < testLastsMs ? null : 'over';
      default:
        return null;
    }
  }

  #ofCheck(row: ReceiverIncidentRow): EndReason | null {
    if (this.#isHeldByCause(row)) return null;
    return this.#withoutCheck(row) ?? (this.#known.failing.has(row.filed_under) ? null : 'recovered');
  }

  /** Whether an open cause is filed under it and has a member that the channel is notified of. */
  #isHeldByCause({ channel_id: channelId, filed_under: id }: ReceiverIncidentRow): boolean {
    const { causes, heard, policies } = this.#known;
    return causes.some(
      ({ notified, members }) =>
        notified.some((one) => one.channelId === channelId && one.checkId === id && !one.isOver) &&
        members.some(
          ({ fact, channelIds }) =>
            channelIds.includes(channelId) &&
            policies.has(fact.checkId) &&
            heard.get(channelId)?.has(fact.checkId) === true,
        ),
    );
  }

  #ofCertificate(row: ReceiverIncidentRow): EndReason | null {
    const lost = this.#withoutCheck(row);
    if (lost !== null) return lost;
    const expiresAt = storedFacts(row).certificate?.expiresAt;
    const present = this.#known.certificates.get(row.filed_under) ?? null;
    return expiresAt !== undefined && present !== null && present > expiresAt ? 'certificate-renewed' : null;
  }

  #ofGap(row: ReceiverIncidentRow): EndReason | null {
    const { gaps } = this.#known;
    const { runLocation } = storedFacts(row);
    if (gaps.has(row.alert_id) || gaps.has(`${row.filed_under} ${runLocation}`)) return null;
    return this.#withoutCheck(row) ?? 'over';
  }

  /** Why the channel gets no alerts of a check at all; null if it does. */
  #withoutCheck({ filed_under: id, channel_id: channelId }: ReceiverIncidentRow): EndReason | null {
    const { checks, policies, heard } = this.#known;
    const check = checks.get(id);
    const policy = policies.get(id);
    if (!check) return 'check-deleted';
    if (!policy) return check.activated ? 'group-deactivated' : 'check-deactivated';
    const isScheduled = !findCheckType(check.checkType)?.pings;
    if (isScheduled && locationsOf(policy.check.definition).length === 0) return 'no-location';
    return heard.get(channelId)?.has(id) ? null : 'channel-unsubscribed';
  }
}

function isTold(row: Parameters<typeof parseState>[0]): boolean {
  const state = parseState(row);
  return isOpen(state) && (state.alert.told.failure || state.alert.told.degraded);
}

/** Locations not known to be healthy again: their recovery is sent with their own alert. */
async function sickAmong(
  { alerts, locationEvents }: Pick<Repositories, 'alerts' | 'locationEvents'>,
  ids: readonly string[],
  now: number,
): Promise<Set<string>> {
  const unhealthy = await locationEvents.unhealthyAmong(ids, now);
  return unhealthy.union(await alerts.heldAmong(ids, 'ALERT_LOCATION_WELL'));
}

/** Checks that each channel is notified of: through their groups if these have channels, else directly. */
async function heardBy(
  { alertChannels }: Pick<Repositories, 'alertChannels'>,
  policies: ReadonlyMap<string, AlertPolicy>,
): Promise<Map<number, Set<string>>> {
  const all = [...policies.values()];
  const ofGroups = await alertChannels.ofGroups(all.flatMap(({ groupId }) => groupId ?? []));
  const ofChecks = await alertChannels.ofChecks([...policies.keys()]);
  const heard = new Map<number, Set<string>>();
  for (const { check, groupId } of all) {
    const subscribed = ofGroups.get(groupId ?? 0) ?? ofChecks.get(check.id) ?? [];
    for (const { channel, activated } of subscribed) {
      if (!activated) continue;
      heard.set(channel.id, (heard.get(channel.id) ?? new Set()).add(check.id));
    }
  }
  return heard;
}

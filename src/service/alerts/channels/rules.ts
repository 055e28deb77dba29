import { findChannelKind } from '@picket/channels/index.ts';
import { maskDefinition } from '@picket/checks/contract/masking.ts';
import type { AlertChannelInput } from '@picket/protocol/alerts/alert-channel.ts';
import type { AlertFacts } from '../facts.ts';
import type { Notice } from '../state.ts';
import type { AlertChannel } from './store.ts';

/** A channel as stored: its definition as written, with the type in a column of its own. */
export type StoredChannel = AlertChannelInput;

/** Whether a channel wants that kind of news. */
export function wantsNotice(channel: StoredChannel, notice: Notice, facts: AlertFacts): boolean {
  switch (notice) {
    case 'failure':
      return channel.sendFailure;
    case 'degraded':
      return channel.sendDegraded;
    case 'gap':
      return wantsGaps(channel);
    case 'recovery':
      if (facts.recoversFrom === 'gap') return channel.sendRecovery && wantsGaps(channel);
      // A channel that does not get degraded checks does not get their recoveries either.
      return channel.sendRecovery && (facts.recoversFrom !== 'degraded' || channel.sendDegraded);
    case 'ssl':
      return channel.sslExpiry;
  }
}

/** Channels that an older build stored lack this flag. */
function wantsGaps({ sendGap }: { readonly sendGap?: boolean }): boolean {
  return sendGap !== false;
}

/** Config of a channel as responses show it: secrets are "". */
export function shownConfig(channel: AlertChannel): Record<string, unknown> {
  const shown = maskDefinition(findChannelKind(channel.type)?.masked ?? [], channel.definition);
  return (shown as { config: Record<string, unknown> }).config;
}

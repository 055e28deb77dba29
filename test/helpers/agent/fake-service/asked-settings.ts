import type { ClaimRequest } from '../../../../src/protocol/agent/agent.ts';
import type {
  LocationAgentSettings,
  SentAgentSettings,
} from '../../../../src/protocol/agent/agent-settings.ts';

/** The settings that the location asks of its agents. */
export class AskedSettings {
  current: SentAgentSettings | null = null;
  readonly #onChange: () => void;
  #count = 0;

  /** @param onChange wakes waiting claims: they end, and bring the settings. */
  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  change(settings: LocationAgentSettings | null): void {
    this.#count += 1;
    this.current = settings && { ...settings, revision: this.#count.toString(16) };
    this.#onChange();
  }

  /** Whether an agent does not know them yet. */
  areNewsFor({ settings }: ClaimRequest): boolean {
    return (settings?.revision ?? '') !== (this.current?.revision ?? '');
  }
}

import type { Fields } from '../../project/fields.ts';

/** What a module does, whatever its target is. */
export interface Probe {
  readonly checkType: 'API' | 'TCP' | 'DNS' | 'ICMP';
  readonly request: Fields;
  /** The longest time-out of its type, in milliseconds. */
  readonly mostMs: number;
  readonly hasFamily: boolean;
}

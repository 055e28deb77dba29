import type { MaskedValue } from '@picket/checks/contract/masking.ts';
import { z } from 'zod';
import type { ChannelMessage } from './message.ts';

/** A request that delivers an alert. */
export interface OutboundRequest {
  readonly url: string;
  readonly method: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: string | null;
}

/** A mail that delivers an alert. */
export interface OutboundMail {
  /** The same at every try: it becomes the Message-ID, by which mail boxes can drop a repetition. */
  readonly id: string;
  readonly address: string;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** What the operator of the service has set for channels; the settings are described with the others. */
export interface ChannelSettings {
  readonly SMTP_URL?: string | undefined;
  readonly MAIL_FROM?: string | undefined;
  readonly PAGERDUTY_URL: string;
  /** The region's own address when absent. */
  readonly OPSGENIE_URL?: string | undefined;
  readonly TELEGRAM_URL: string;
  readonly SLACK_URL: string;
  readonly SLACK_BOT_TOKEN?: string | undefined;
  readonly SMS_PROVIDER?: string | undefined;
  readonly CALL_PROVIDER?: string | undefined;
}

/** What a receiver answered. */
export interface Answer {
  readonly statusCode: number;
  /** The beginning of the body. */
  readonly text: string;
}

/** What a channel reads in an answer that its status does not say. */
export interface AnswerReading {
  /** Why the receiver did not take the message, whatever the status. */
  readonly error?: string | undefined;
  /** What it says about a status that is no success. */
  readonly reason?: string | undefined;
  /** With an error: whether it may pass. */
  readonly isRetryable?: boolean | undefined;
  /** How long the receiver asked to be left alone, in milliseconds. */
  readonly retryAfterMs?: number | undefined;
}

export type ReadAnswer = (answer: Answer, settings: ChannelSettings) => AnswerReading;

/**
 * How a channel is delivered to. `template`: the author's own templates make the request, so it is made where
 * they cannot hold anybody up.
 */
export type Sender<Config> =
  | {
      readonly kind: 'http';
      /** One or more, each of which has to arrive; always as many for the same config. */
      requests(config: Config, message: ChannelMessage, settings: ChannelSettings): OutboundRequest[];
      /**
       * Only where the operator says which host is asked: authors of channels could otherwise have the
       * service read to them what others keep from them.
       */
      readonly readAnswer?: ReadAnswer;
    }
  | { readonly kind: 'mail'; mail(config: Config, message: ChannelMessage): OutboundMail }
  | { readonly kind: 'template' };

export interface ChannelDefinition<Type extends string, Config extends z.ZodObject> {
  readonly type: Type;
  /** As people call it. */
  readonly title: string;
  /** What it needs to know of the receiver. */
  readonly config: Config;
  /** Texts of the config that answers show as "". */
  readonly hidden?: readonly (keyof z.output<Config> & string)[];
  /** Lists of `{key, value}` in the config whose values answers show as "", where an entry is `locked`. */
  readonly lockable?: readonly (keyof z.output<Config> & string)[];
  /** The field with the address that hidden and locked values are sent to, where authors choose it. */
  readonly address?: keyof z.output<Config> & string;
  /**
   * The fields that say which receiver it is, where that keeps an incident open until it hears that it is over. One
   * that only carries messages has none.
   */
  readonly incidentsAt?: readonly (keyof z.output<Config> & string)[];
  readonly sender: Sender<z.output<Config>>;
  /** Why a service with these settings cannot deliver, as a sentence that says what to do, or undefined. */
  readonly whyUndelivered?: (settings: ChannelSettings, config: z.output<Config>) => string | undefined;
  /** Whether a channel that cannot be delivered to is refused when it is made. */
  readonly isRefusedUndelivered?: boolean;
  /** A config that is valid, for documents and tests. */
  readonly sample: z.input<Config>;
}

/** A type of channel, whatever its config. */
export interface Channel<Type extends string = string, Config extends z.ZodObject = z.ZodObject> {
  readonly type: Type;
  readonly title: string;
  readonly config: Config;
  /** The config as answers show it. */
  readonly shownConfig: z.ZodObject;
  readonly masked: readonly MaskedValue[];
  readonly incidentsAt: readonly string[];
  /** Whether the receiver keeps an incident open until it hears that it is over. */
  readonly keepsIncidents: boolean;
  /** Takes configs as the schema of this type returned them. */
  readonly sender: Sender<unknown>;
  readonly whyUndelivered: (settings: ChannelSettings, config: unknown) => string | undefined;
  readonly isRefusedUndelivered: boolean;
  readonly sample: Readonly<Record<string, unknown>>;
}

/** Declares a type of channel. What needs to know nothing of its config sees it as a `Channel`. */
export function defineChannel<const Type extends string, Config extends z.ZodObject>(
  definition: ChannelDefinition<Type, Config>,
): Channel<Type, Config> {
  const { type, title, config, hidden = [], lockable = [], address, sender, sample } = definition;
  const sentTo = address === undefined ? [] : [['config', address] as const];
  return {
    type,
    title,
    config,
    shownConfig: config.extend(Object.fromEntries(hidden.map((key) => [key, shownText(config.shape[key])]))),
    masked: [
      ...hidden.map((key) => ({ path: ['config', key], sentTo }) as const),
      ...lockable.map((key) => ({ path: ['config', key], flags: ['locked'], sentTo }) as const),
    ],
    incidentsAt: definition.incidentsAt ?? [],
    keepsIncidents: definition.incidentsAt !== undefined,
    sender: sender as Sender<unknown>,
    whyUndelivered: (settings, one) => definition.whyUndelivered?.(settings, one as z.output<Config>),
    isRefusedUndelivered: definition.isRefusedUndelivered ?? false,
    sample,
  };
}

/** A text that may be shown as "". */
function shownText(schema: z.core.$ZodType | undefined): z.ZodType {
  return schema && z.safeParse(schema, null).success ? z.string().nullable() : z.string();
}

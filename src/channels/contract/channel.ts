import type { MaskedValue } from '@picket/checks/contract/masking.ts';
import { z } from 'zod';
import type { ChannelMessage } from './message.ts';

/** HTTP request that delivers an alert. */
export interface OutboundRequest {
  readonly url: string;
  readonly method: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: string | null;
}

/** Mail that delivers an alert. */
export interface OutboundMail {
  /** The same on every attempt: it becomes the Message-ID, by which mailboxes can drop duplicates. */
  readonly id: string;
  readonly address: string;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  /** The same for all mails that belong together. */
  readonly thread: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** The operator's settings for channels, documented with the other settings. */
export interface ChannelSettings {
  readonly SMTP_URL?: string | undefined;
  readonly MAIL_FROM?: string | undefined;
  readonly PAGERDUTY_URL: string;
  /** If absent, the public address of the region. */
  readonly OPSGENIE_URL?: string | undefined;
  readonly TELEGRAM_URL: string;
  readonly SLACK_URL: string;
  readonly SLACK_BOT_TOKEN?: string | undefined;
  readonly SMS_PROVIDER?: string | undefined;
  readonly CALL_PROVIDER?: string | undefined;
}

/** Response of a receiver. */
export interface Answer {
  readonly statusCode: number;
  /** Beginning of the body. */
  readonly text: string;
}

/** Outcome of a delivery as the response's body states it, beyond the status code. */
export interface AnswerReading {
  /** Why the receiver rejected the message, whatever the status. */
  readonly error?: string | undefined;
  /** The receiver's explanation of an error status. */
  readonly reason?: string | undefined;
  /** With an error: whether it may be temporary. */
  readonly isRetryable?: boolean | undefined;
  /** How long the receiver asked clients to wait, in milliseconds. */
  readonly retryAfterMs?: number | undefined;
}

export type ReadAnswer = (answer: Answer, settings: ChannelSettings) => AnswerReading;

/**
 * How a channel delivers. `template`: the author's own templates build the request, so it is built where they cannot
 * block other work.
 */
export type Sender<Config> =
  | {
      readonly kind: 'http';
      /** One or more requests that must all succeed; their number depends only on the config. */
      requests(config: Config, message: ChannelMessage, settings: ChannelSettings): OutboundRequest[];
      /**
       * Only where the operator chooses the host: otherwise authors of channels could make the service read internal
       * responses for them.
       */
      readonly readAnswer?: ReadAnswer;
    }
  | { readonly kind: 'mail'; mail(config: Config, message: ChannelMessage): OutboundMail }
  | { readonly kind: 'template' };

export interface ChannelDefinition<Type extends string, Config extends z.ZodObject> {
  readonly type: Type;
  /** Name shown to users. */
  readonly title: string;
  /** The name of its icon on pages, from @primer/octicons. */
  readonly icon: string;
  /** Schema of the settings that describe the receiver. */
  readonly config: Config;
  /** Text fields of the config that API responses show as "". */
  readonly hidden?: readonly (keyof z.output<Config> & string)[];
  /** Lists of `{key, value}` in the config. API responses show the values of `locked` entries as "". */
  readonly lockable?: readonly (keyof z.output<Config> & string)[];
  /** The field with the URL that receives the hidden and locked values, if authors choose it. */
  readonly address?: keyof z.output<Config> & string;
  /**
   * Fields that identify the receiver, if it keeps an incident open until it is notified of the recovery. Absent for
   * receivers that only carry messages.
   */
  readonly incidentsAt?: readonly (keyof z.output<Config> & string)[];
  readonly sender: Sender<z.output<Config>>;
  /** Why a service with these settings cannot deliver, as a sentence with the remedy; undefined if it can. */
  readonly whyUndelivered?: (settings: ChannelSettings, config: z.output<Config>) => string | undefined;
  /** Whether the API refuses to create a channel that the service cannot deliver to. */
  readonly isRefusedUndelivered?: boolean;
  /** The config for a mail address or the URL of a webhook that a user typed; undefined if it is not of this type. */
  readonly configFor?: (address: string) => z.input<Config> | undefined;
  /** A valid config, for documents and tests. */
  readonly sample: z.input<Config>;
}

/** A type of channel, independent of its config. */
export interface Channel<Type extends string = string, Config extends z.ZodObject = z.ZodObject> {
  readonly type: Type;
  readonly title: string;
  readonly icon: string;
  readonly config: Config;
  /** Schema of the config in API responses. */
  readonly shownConfig: z.ZodObject;
  readonly masked: readonly MaskedValue[];
  readonly incidentsAt: readonly string[];
  /** Whether the receiver keeps an incident open until it is notified of the recovery. */
  readonly keepsIncidents: boolean;
  /** Accepts configs that the schema of this type has parsed. */
  readonly sender: Sender<unknown>;
  readonly whyUndelivered: (settings: ChannelSettings, config: unknown) => string | undefined;
  readonly isRefusedUndelivered: boolean;
  readonly configFor: (address: string) => Readonly<Record<string, unknown>> | undefined;
  readonly sample: Readonly<Record<string, unknown>>;
}

/** Declares a type of channel. Code that does not depend on the config sees it as a `Channel`. */
export function defineChannel<const Type extends string, Config extends z.ZodObject>(
  definition: ChannelDefinition<Type, Config>,
): Channel<Type, Config> {
  const { type, title, icon, config, hidden = [], lockable = [], address, sender, sample } = definition;
  const sentTo = address === undefined ? [] : [['config', address] as const];
  return {
    type,
    title,
    icon,
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
    configFor: (typed) => definition.configFor?.(typed),
    sample,
  };
}

/** Schema of a text that API responses may show as "". */
function shownText(schema: z.core.$ZodType | undefined): z.ZodType {
  return schema && z.safeParse(schema, null).success ? z.string().nullable() : z.string();
}

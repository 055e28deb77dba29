import { z } from 'zod';

/** Calls of the public API that `npm start` makes, like any other client. */
export class ApiClient {
  readonly #baseUrl: string;
  readonly #apiKey: string;

  constructor(baseUrl: string, apiKey: string) {
    this.#baseUrl = baseUrl;
    this.#apiKey = apiKey;
  }

  /** @throws Error with the service's message if the response is not a success. */
  async call<Schema extends z.ZodType>(
    method: string,
    path: string,
    schema: Schema,
    body?: unknown,
  ): Promise<z.output<Schema>> {
    const response = await fetch(`${this.#baseUrl}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${this.#apiKey}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const answer: unknown = response.status === 204 ? null : await response.json();
    if (!response.ok) {
      const message = z.object({ message: z.string() }).safeParse(answer).data?.message ?? '';
      throw new Error(`${method} ${path}: ${response.status} ${message}`);
    }
    return schema.parse(answer);
  }
}

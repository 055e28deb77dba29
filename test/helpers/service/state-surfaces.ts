import { showStatus } from '../../../src/cli/api/checks.ts';
import { ApiClient } from '../../../src/cli/api/client.ts';
import type { CheckState } from '../../../src/protocol/checks/check-state.ts';
import { shownStates, states } from '../../../src/service/console/elements/state.ts';
import type { ServiceProcess } from './service-process.ts';

/** What one surface says of one check. */
export type Said = CheckState | null;

/** Every surface that says how a check stands, and what it says at one moment, by the name of the surface. */
export class StateSurfaces {
  readonly #service: ServiceProcess;
  readonly #key: string;
  readonly #dashboard: string;
  #cookie = '';

  constructor(service: ServiceProcess, key: string, dashboard: string) {
    this.#service = service;
    this.#key = key;
    this.#dashboard = dashboard;
  }

  async login(): Promise<void> {
    const answer = await fetch(`${this.#service.url}/login`, {
      method: 'POST',
      redirect: 'manual',
      headers: { 'sec-fetch-site': 'same-origin' },
      body: new URLSearchParams({ key: this.#key }),
    });
    if (answer.status !== 303) throw new Error(`logging in was answered with ${answer.status}`);
    this.#cookie = answer.headers
      .getSetCookie()
      .map((cookie) => cookie.split(';')[0])
      .join('; ');
  }

  /** What all of them say of some checks, by the name of the surface and the id of the check. */
  async read(ids: readonly string[]): Promise<Map<string, Map<string, Said>>> {
    const all = [
      ['check-statuses', this.#ofList('/v1/check-statuses', 'checkId')],
      ['checks', this.#ofList('/v1/checks', 'id')],
      ['picket status', this.#ofCommand()],
      ['list_check_statuses', this.#ofTool()],
      ['dashboard', this.#ofDashboard()],
      ['badge', this.#ofBadges(ids)],
      ['picket_check_state', this.#ofMetric()],
      ['picket_check_up', this.#ofSamples('/metrics/checks', 'picket_check_up')],
      ['probe_success', this.#ofSamples('/metrics/checks?names=blackbox', 'probe_success')],
      ['overview', this.#ofOverview()],
      ['check page', this.#ofPages(ids)],
    ] as const;
    return new Map(await Promise.all(all.map(async ([name, said]) => [name, await said] as const)));
  }

  /** What the page and the API say of a location. */
  async locationHealth(id: string): Promise<{ readonly api: string; readonly page: string }> {
    const { body } = await this.#service.call('GET', `/v1/private-locations/${id}`);
    const page = await this.#text(`/locations/${id}`);
    return {
      api: body.health.state,
      page: /class="lead"><span class="state state-(\w+)"/.exec(page)?.[1] ?? '',
    };
  }

  pageOf(checkId: string): Promise<string> {
    return this.#text(`/checks/${checkId}`);
  }

  async #ofList(path: string, idField: string): Promise<Map<string, Said>> {
    const { body } = await this.#service.call('GET', path);
    return new Map(body.map((one: Record<string, string>) => [one[idField], one['state']]));
  }

  async #ofCommand(): Promise<Map<string, Said>> {
    const api = new ApiClient({ PICKET_URL: this.#service.url, PICKET_API_KEY: this.#key } as never);
    const { json } = await showStatus(api, [], {});
    const { checks } = json as { checks: { id: string; state: CheckState }[] };
    return new Map(checks.map(({ id, state }) => [id, state]));
  }

  async #ofTool(): Promise<Map<string, Said>> {
    const request = {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'list_check_statuses', arguments: {} },
    };
    const text = await this.#text('/mcp', {
      method: 'POST',
      headers: { accept: 'application/json, text/event-stream', 'content-type': 'application/json' },
      body: JSON.stringify(request),
    });
    const found = [
      ...text.matchAll(/checkId\\?":\s*\\?"([0-9a-f-]{36})[\s\S]*?\\?"state\\?":\s*\\?"([a-z-]+)/g),
    ];
    return new Map(found.map(([, id = '', state]) => [id, state as CheckState]));
  }

  async #ofDashboard(): Promise<Map<string, Said>> {
    const { body } = await this.#service.call('GET', `/v1/public/dashboards/${this.#dashboard}`);
    return new Map(
      body.checks.map((one: { checkId: string; state: CheckState }) => [one.checkId, one.state]),
    );
  }

  async #ofBadges(ids: readonly string[]): Promise<Map<string, Said>> {
    const badges = await Promise.all(ids.map((id) => this.#text(`/v1/badges/checks/${id}`)));
    const word = (badge: string) => /aria-label="[^"]*: ([a-z ]+?)(?: \d[^"]*)?"/.exec(badge)?.[1];
    return new Map(
      badges.map((badge, index) => [ids[index] ?? '', (word(badge)?.replace(' ', '-') ?? null) as Said]),
    );
  }

  async #ofMetric(): Promise<Map<string, Said>> {
    const lines = (await this.#text('/metrics/checks')).matchAll(
      /^picket_check_state\{check="([^"]+)".*state="([a-z-]+)"/gm,
    );
    return new Map([...lines].map(([, id = '', state]) => [id, state as CheckState]));
  }

  /** 1: passing, 0: failing; none: nothing is said. */
  async #ofSamples(path: string, name: string): Promise<Map<string, Said>> {
    const lines = (await this.#text(path)).matchAll(
      new RegExp(`^${name}\\{check="([^"]+)".*\\} (\\d)$`, 'gm'),
    );
    return new Map([...lines].map(([, id = '', value]) => [id, value === '1' ? 'passing' : 'failing']));
  }

  async #ofOverview(): Promise<Map<string, Said>> {
    const rows = (await this.#text('/')).matchAll(/<li class="check check-(\w+)" id="check-([0-9a-f-]+)"/g);
    return new Map([...rows].map(([, shown = '', id = '']) => [id, stateShownAs(shown)]));
  }

  async #ofPages(ids: readonly string[]): Promise<Map<string, Said>> {
    const pages = await Promise.all(ids.map((id) => this.#text(`/checks/${id}`)));
    const shown = (page: string) =>
      /class="check-line"><span class="state state-(\w+)"/.exec(page)?.[1] ?? '';
    return new Map(pages.map((page, index) => [ids[index] ?? '', stateShownAs(shown(page))]));
  }

  async #text(path: string, init: RequestInit = {}): Promise<string> {
    const isOfApi = /^\/(v1|metrics|mcp)/.test(path);
    const own = isOfApi
      ? { authorization: `Bearer ${this.#key}` }
      : { cookie: this.#cookie, accept: 'text/html' };
    const answer = await fetch(this.#service.url + path, {
      ...init,
      headers: { ...own, ...(init.headers as Record<string, string>) },
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${path} was answered with ${answer.status}: ${text.slice(0, 300)}`);
    return text;
  }
}

function stateShownAs(shown: string): Said {
  if (!(shown in states)) return null;
  const found = Object.entries(shownStates).find(([, state]) => state === shown);
  return (found?.[0] ?? null) as Said;
}

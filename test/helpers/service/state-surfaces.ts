import { showAlerts } from '../../../src/cli/api/alerts.ts';
import { showCauses } from '../../../src/cli/api/causes.ts';
import { listChecks, showStatus } from '../../../src/cli/api/checks.ts';
import { ApiClient } from '../../../src/cli/api/client.ts';
import type { Shown } from '../../../src/cli/api/command.ts';
import { type CheckState, checkStates } from '../../../src/protocol/checks/check-state.ts';
import { type PublicPlaces, publicStates } from '../surfaces/public-states.ts';
import { type Said, sameOfAll, stateShownAs, type Watched } from '../surfaces/said.ts';
import { type Receivers, sentStates } from '../surfaces/sent-states.ts';
import type { ServiceProcess } from './service-process.ts';

export interface SurfacesOptions extends PublicPlaces {
  readonly service: ServiceProcess;
  readonly key: string;
  /** An objective of one check that never fails. */
  readonly slo: { readonly id: number; readonly checkId: string };
  readonly receivers: Receivers;
}

/**
 * All surfaces that show the state of a check. `read` returns what each of them shows at one moment, by the name of the
 * surface.
 */
export class StateSurfaces {
  readonly #options: SurfacesOptions;
  readonly #service: ServiceProcess;
  readonly #api: ApiClient;
  #cookie = '';

  constructor(options: SurfacesOptions) {
    this.#options = options;
    this.#service = options.service;
    this.#api = new ApiClient({ PICKET_URL: options.service.url, PICKET_API_KEY: options.key } as never);
  }

  async login(): Promise<void> {
    const answer = await fetch(`${this.#service.url}/login`, {
      method: 'POST',
      redirect: 'manual',
      headers: { 'sec-fetch-site': 'same-origin' },
      body: new URLSearchParams({ key: this.#options.key }),
    });
    if (answer.status !== 303) throw new Error(`logging in was answered with ${answer.status}`);
    this.#cookie = answer.headers
      .getSetCookie()
      .map((cookie) => cookie.split(';')[0])
      .join('; ');
  }

  /** Returns the states that all surfaces show, by the name of the surface and the id of the check. */
  async read(watched: Watched): Promise<Map<string, Map<string, Said>>> {
    const { ids } = watched;
    const read = (path: string, init?: RequestInit) => this.#text(path, init);
    const all = {
      'check-statuses': this.#ofList('/v1/check-statuses', 'checkId'),
      'check-statuses, one': this.#ofEach(ids, '/v1/check-statuses'),
      checks: this.#ofList('/v1/checks', 'id'),
      'checks, one': this.#ofEach(ids, '/v1/checks'),
      'checks by state': this.#ofListsByState(),
      ...this.#ofCommands(),
      ...this.#ofTools(ids),
      ...this.#ofMetrics(),
      overview: this.#ofRows('/'),
      'overview by group': this.#ofRows('/?by=group'),
      'overview of what passes': this.#ofRows('/?state=passed'),
      'overview of a tag': this.#ofRows('/?tag=well'),
      'first line of the overview': this.#text('/').then((page) =>
        sameOfAll(ids, /headline headline-passed"/.test(page) ? 'passing' : undefined),
      ),
      'check page': this.#ofPages(ids),
      'alerts page': this.#ofAlertsPage(ids),
      ...this.#ofObjective(),
      ...publicStates(read, this.#options, watched),
      ...sentStates(this.#options.receivers, watched),
    };
    return new Map(
      await Promise.all(Object.entries(all).map(async ([name, said]) => [name, await said] as const)),
    );
  }

  /** The health of a location, on its page and in the API. */
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

  async #ofEach(ids: readonly string[], path: string): Promise<Map<string, Said>> {
    const answers = await Promise.all(ids.map((id) => this.#service.call('GET', `${path}/${id}`)));
    // The status of a check that never ran is null.
    return new Map(answers.flatMap(({ body }, at) => (body === null ? [] : [[ids[at] ?? '', body.state]])));
  }

  async #ofListsByState(): Promise<Map<string, Said>> {
    const lists = await Promise.all(
      checkStates.map((state) => this.#service.call('GET', `/v1/checks?state=${state}`)),
    );
    // A check that changes state meanwhile is in two lists: the worse state is the newer one.
    return new Map(
      lists
        .flatMap(({ body }, at) =>
          body.map(({ id }: { id: string }) => [id, checkStates[at]] as [string, CheckState]),
        )
        .toReversed(),
    );
  }

  #ofCommands(): Record<string, Promise<Map<string, Said>>> {
    const failing = (some: readonly { readonly checkId: string }[]) =>
      new Map(some.map(({ checkId }) => [checkId, 'failing'] as const));
    return {
      'picket status': showStatus(this.#api, [], {}).then(({ json }) => {
        const { checks } = json as { checks: { id: string; state: CheckState }[] };
        return new Map(checks.map(({ id, state }) => [id, state]));
      }),
      'picket status, as printed': showStatus(this.#api, [], {}).then(printed),
      'picket checks': listChecks(this.#api, [], {}).then(printed),
      'picket alerts': showAlerts(this.#api, [], {}).then(({ json }) =>
        failing((json as { openAlerts: { checkId: string }[] }).openAlerts),
      ),
      'picket causes': showCauses(this.#api, [], {}).then(({ json }) => {
        const { causes, alone } = json as {
          causes: { members: { checkId: string }[] }[];
          alone: { checkId: string }[];
        };
        return failing([...alone, ...causes.flatMap(({ members }) => members)]);
      }),
    };
  }

  #ofTools(ids: readonly string[]): Record<string, Promise<Map<string, Said>>> {
    const pair = (said: string, idField: string): [string, Said][] =>
      [
        ...said.matchAll(
          new RegExp(`"${idField}":\\s*"([0-9a-f-]{36})"[\\s\\S]*?"state":\\s*"([a-z-]+)"`, 'g'),
        ),
      ].map(([, id = '', state]) => [id, state as CheckState]);
    return {
      list_check_statuses: this.#tool('list_check_statuses', {}).then(
        (said) => new Map(pair(said, 'checkId')),
      ),
      get_check_status: Promise.all(ids.map((checkId) => this.#tool('get_check_status', { checkId }))).then(
        (answers) => new Map(answers.flatMap((said) => pair(said, 'checkId'))),
      ),
      list_open_alerts: this.#tool('list_open_alerts', {}).then(
        (said) => new Map(ids.filter((id) => said.includes(id)).map((id) => [id, 'failing'])),
      ),
    };
  }

  async #tool(name: string, given: Record<string, unknown>): Promise<string> {
    const request = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: given } };
    const text = await this.#text('/mcp', {
      method: 'POST',
      headers: { accept: 'application/json, text/event-stream', 'content-type': 'application/json' },
      body: JSON.stringify(request),
    });
    // The response is JSON inside a JSON string.
    return text.replaceAll('\\"', '"').replaceAll('\\n', '\n');
  }

  #ofMetrics(): Record<string, Promise<Map<string, Said>>> {
    const [own, others] = [this.#text('/metrics/checks'), this.#text('/metrics/checks?names=blackbox')];
    /** 1: passing, 0: failing; no sample: no state. */
    const ofSamples = (text: string, name: string) =>
      new Map(
        [...text.matchAll(new RegExp(`^${name}\\{check="([^"]+)".*\\} (\\d)$`, 'gm'))].map(
          ([, id = '', value]) => [id, value === '1' ? 'passing' : 'failing'] as [string, CheckState],
        ),
      );
    return {
      picket_check_state: own.then((text) => {
        const lines = text.matchAll(/^picket_check_state\{check="([^"]+)".*state="([a-z-]+)"/gm);
        return new Map([...lines].map(([, id = '', state]) => [id, state as CheckState]));
      }),
      picket_check_up: own.then((text) => ofSamples(text, 'picket_check_up')),
      probe_success: others.then((text) => ofSamples(text, 'probe_success')),
    };
  }

  async #ofRows(path: string): Promise<Map<string, Said>> {
    const rows = (await this.#text(path)).matchAll(/<tr class="check check-(\w+)" id="check-([0-9a-f-]+)"/g);
    return new Map([...rows].map(([, shown = '', id = '']) => [id, stateShownAs(shown)]));
  }

  async #ofPages(ids: readonly string[]): Promise<Map<string, Said>> {
    const pages = await Promise.all(ids.map((id) => this.#text(`/checks/${id}`)));
    const shown = (page: string) =>
      /class="check-line"><span class="state state-(\w+)"/.exec(page)?.[1] ?? '';
    return new Map(pages.map((page, index) => [ids[index] ?? '', stateShownAs(shown(page))]));
  }

  async #ofAlertsPage(ids: readonly string[]): Promise<Map<string, Said>> {
    const rows = (await this.#text('/alerts'))
      .split('</tr>')
      .filter((row) => /state state-(failed|degraded)/.test(row));
    const named = ids.filter((id) => rows.some((row) => row.includes(`/checks/${id}`)));
    return new Map(named.map((id) => [id, 'failing']));
  }

  /** An objective is met if its check passes, and only while no due run is missing. */
  #ofObjective(): Record<string, Promise<Map<string, Said>>> {
    const { id, checkId } = this.#options.slo;
    const as = (said: Said | undefined) => sameOfAll([checkId], said);
    return {
      objective: this.#text(`/v1/slos/${id}/status`).then((text) =>
        as(({ MET: 'passing', BREACHED: 'failing' } as const)[JSON.parse(text).state as 'MET']),
      ),
      'page of the objective': this.#text(`/settings/slos/${id}/details`).then((page) =>
        as(
          page.includes('Breached')
            ? 'failing'
            : /state-passed"[^/]*\/span>Met</.test(page)
              ? 'passing'
              : undefined,
        ),
      ),
    };
  }

  async #text(path: string, init: RequestInit = {}): Promise<string> {
    const isOfApi = /^\/(v1|metrics|mcp)/.test(path);
    const own = isOfApi
      ? { authorization: `Bearer ${this.#options.key}` }
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

/** The states of a table that a command prints, which has the beginnings of ids. */
function printed({ lines, json }: Shown): Map<string, Said> {
  const { checks } = (Array.isArray(json) ? { checks: json } : json) as {
    readonly checks: readonly { readonly id: string }[];
  };
  const rows = lines(300).flatMap((line) => {
    const [, state = '', short = ''] =
      /^([a-z]+(?: [a-z]+)?)\s{2,}.*?\s([0-9a-f-]{8,36})\s*$/.exec(line) ?? [];
    const check = short === '' ? undefined : checks.find(({ id }) => id.startsWith(short));
    return check ? [[check.id, state.replace(' ', '-') as Said] as const] : [];
  });
  return new Map(rows);
}

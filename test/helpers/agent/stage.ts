import { AgentProcess } from './agent-process.ts';
import { FakeService } from './fake-service/fake-service.ts';
import { Target } from './target.ts';

/** A fake service, a target and an agent process between them; `await using` ends all three with the test. */
export class Stage implements AsyncDisposable {
  readonly service = new FakeService();
  readonly target = new Target();
  readonly #agents: AgentProcess[] = [];

  static async open(): Promise<Stage> {
    const stage = new Stage();
    await Promise.all([stage.service.listen(), stage.target.listen()]);
    return stage;
  }

  /** Starts an agent for this service. */
  startAgent(
    environment: Readonly<Record<string, string>> = {},
    nodeArguments: readonly string[] = [],
    wrapper: readonly string[] = [],
  ): AgentProcess {
    const agent = new AgentProcess({ SERVICE_URL: this.service.url, ...environment }, nodeArguments, wrapper);
    this.#agents.push(agent);
    return agent;
  }

  /** Starts an agent and waits until it has made its first claim. */
  async connectedAgent(environment: Readonly<Record<string, string>> = {}): Promise<AgentProcess> {
    const agent = this.startAgent(environment);
    await agent.logged('connected to the service');
    return agent;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#agents.map((agent) => agent.kill()));
    await Promise.all([this.service.close(), this.target.close()]);
  }
}

/** A tool: operations of the API under a name and with words that a language model understands. */
export interface ToolSpec {
  readonly name: string;
  /** For people who are asked whether it may be called. */
  readonly title: string;
  /** For the model: what it answers, and when to call it. */
  readonly description: string;
  /** Ids of operations. The first of which all parameters of the path are given is called. */
  readonly operations: readonly string[];
  /** Instead of `operations`: the one that the value of an argument stands for. */
  readonly choice?: {
    readonly argument: string;
    readonly description: string;
    readonly operations: ReadonlyMap<string, string>;
  };
  /** What parameters of the path are called here. */
  readonly names?: Readonly<Record<string, string>>;
  /** Parameters of the query that are of no use here. */
  readonly without?: readonly string[];
  /** The body is one argument of this name; when absent, its fields are arguments of their own. */
  readonly bodyAs?: { readonly name: string; readonly description: string };
  /** It answers with a file: a picture as one, text in parts. */
  readonly isFile?: true;
  /** What it answers may hold what a target, a page or a log said. */
  readonly isForeign?: true;
}

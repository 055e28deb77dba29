/** A tool: operations of the API with a name and a description for a language model. */
export interface ToolSpec {
  readonly name: string;
  /** For users who must approve the call. */
  readonly title: string;
  /** For the model: what it returns, and when to call it. */
  readonly description: string;
  /** Ids of operations. The tool calls the first one whose path parameters are all given. */
  readonly operations: readonly string[];
  /** Instead of `operations`: an argument whose value selects the operation. */
  readonly choice?: {
    readonly argument: string;
    readonly description: string;
    readonly operations: ReadonlyMap<string, string>;
  };
  /** Names of path parameters in this tool. */
  readonly names?: Readonly<Record<string, string>>;
  /** Query parameters that this tool leaves out. */
  readonly without?: readonly string[];
  /** The body is one argument of this name; if absent, its fields are arguments of their own. */
  readonly bodyAs?: { readonly name: string; readonly description: string };
  /** It returns a file: an image as a whole, text in parts. */
  readonly isFile?: true;
  /** Its result may contain text of a target, a page or a log. */
  readonly isForeign?: true;
}

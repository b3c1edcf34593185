declare namespace restsrv {
  type Literal = string | number | bigint | boolean | Date | null;
  /** "$attribute", or a function of attributes. */
  type Operand<K extends ClassName> = `$${AttributePath<K>}` | FunctionCall;
  /** A function of values, such as {"add": ["$a", 1]}. */
  type FunctionCall = {
    readonly [F in
      | "add" | "sub" | "mul" | "div" | "mod" | "abs" | "floor" | "round" | "concat" | "substr" | "upper" | "lower" | "size"
      | "if" | "case" | "ifNull" | "date" | "now" | "literal" | "dateAdd" | "dateDiff" | "format" | "dateFormat"
      | "year" | "month" | "day" | "hour" | "minute" | "second" | "millisecond"]?: readonly unknown[];
  };
  type Pair<K extends ClassName> = readonly [Operand<K>, unknown] | readonly [unknown, Operand<K>];
  interface Conditions<K extends ClassName> {
    readonly and: readonly Filter<K>[];
    readonly or: readonly Filter<K>[];
    readonly not: readonly Filter<K>[];
    readonly eq: Pair<K>;
    readonly ne: Pair<K>;
    readonly lt: Pair<K>;
    readonly lte: Pair<K>;
    readonly gt: Pair<K>;
    readonly gte: Pair<K>;
    readonly like: Pair<K>;
    readonly in: readonly [Operand<K>, ...unknown[]];
    readonly contains: readonly [Operand<K>, unknown];
    readonly empty: readonly [Operand<K>];
    readonly nempty: readonly [Operand<K>];
    readonly match: readonly [string];
  }
  interface Operators {
    readonly $eq?: Literal | FunctionCall;
    readonly $ne?: Literal | FunctionCall;
    readonly $lt?: Literal | FunctionCall;
    readonly $lte?: Literal | FunctionCall;
    readonly $gt?: Literal | FunctionCall;
    readonly $gte?: Literal | FunctionCall;
    readonly $in?: readonly Literal[];
    readonly $nin?: readonly Literal[];
    readonly $regex?: string;
    readonly $options?: string;
    readonly $exists?: boolean;
    readonly $not?: Operators;
  }
  type Compared = Literal | Operators | Identified;
  /**
   * A filter in either style: {eq: ['$name', 'x']} or {name: {$eq: 'x'}}. If you assign it to a variable first, declare
   * its type: restsrv.Filter<'class@namespace'>.
   */
  type Filter<K extends ClassName> = {
    readonly [C in keyof Conditions<K>]?: Conditions<K>[C] | (C extends keyof Values<K> ? Compared : never);
  } & {
    readonly [P in Exclude<AttributePath<K>, keyof Conditions<K>>]?: Compared;
  } & {
    readonly $and?: readonly Filter<K>[];
    readonly $or?: readonly Filter<K>[];
    readonly $nor?: readonly Filter<K>[];
    readonly $not?: Filter<K>;
  };
  type Sort<K extends ClassName> =
    | { readonly [P in AttributePath<K>]?: 1 | -1 }
    | readonly { readonly property: AttributePath<K>; readonly mode?: 0 | 1 }[];

  /** What to load with an item. */
  interface LoadOptions<K extends ClassName> {
    /** Paths of references and collections: ['town', ['friends', 'town']]. */
    forceEnrichment?: LinkPath<K> | readonly (LinkPath<K> | readonly [LinkName<K>, ...string[]])[];
    /** How many levels of references to load. */
    nestingDepth?: number;
    /** Accepted for services written for IONDV, and ignored: restsrv uses the account of the request. */
    user?: User | null;
    lang?: string;
    needed?: unknown;
    skipEnrich?: boolean;
    skipCalculations?: boolean;
    reload?: boolean;
  }
  interface CountOptions<K extends ClassName> {
    filter?: Filter<K> | null;
    skipSubClasses?: boolean;
    user?: User | null;
    lang?: string;
  }
  interface ListOptions<K extends ClassName> extends CountOptions<K>, LoadOptions<K> {
    sort?: Sort<K>;
    offset?: number;
    count?: number;
    /** Sets the property total of the array to the number of all items. */
    countTotal?: boolean;
    distinct?: boolean;
  }
  interface WriteOptions<K extends ClassName> extends LoadOptions<K> {
    /** The promise resolves to null. */
    skipResult?: boolean;
    autoAssign?: boolean;
    ignoreIntegrityCheck?: boolean;
    adjustAutoInc?: boolean;
    skipCacheRefresh?: boolean;
  }
  /** Options for a class that is only known at run time. */
  interface AnyOptions {
    filter?: any;
    sort?: any;
    offset?: number;
    count?: number;
    [option: string]: any;
  }
  interface Aggregation<K extends ClassName> {
    fields?: { [column: string]: Operand<K> };
    aggregates?: { [column: string]: { [F in "count" | "sum" | "avg" | "min" | "max"]?: readonly [] | readonly [Operand<K>] } };
    filter?: Filter<K> | null;
    sort?: { [column: string]: 1 | -1 };
    offset?: number;
    count?: number;
    distinct?: boolean;
    skipSubClasses?: boolean;
  }
  interface List<T> extends Array<T> {
    /** With countTotal: the number of all items that match the filter. */
    total?: number;
  }
  interface ItemIterator<T> {
    next(): Promise<T | null>;
    count(): Promise<number>;
  }
  type Id = string | number | bigint;

  /** The methods of a repository that can be used in a transaction. Its writes are all stored or none. The option log is ignored: classes with "journaling" always keep a journal. */
  interface Transaction {
    getList<S extends string>(className: Dynamic<S>, options?: AnyOptions): Promise<List<AnyItem>>;
    getList<K extends ClassName>(className: K | Item<K>, options?: ListOptions<K>): Promise<List<ItemOf<K>>>;
    getCount<S extends string>(className: Dynamic<S>, options?: AnyOptions): Promise<number>;
    getCount<K extends ClassName>(className: K | Item<K>, options?: CountOptions<K>): Promise<number>;
    getIterator<S extends string>(className: Dynamic<S>, options?: AnyOptions): Promise<ItemIterator<AnyItem>>;
    getIterator<K extends ClassName>(className: K | Item<K>, options?: ListOptions<K>): Promise<ItemIterator<ItemOf<K>>>;
    /** Resolves to null if the item does not exist. */
    getItem<S extends string>(className: Dynamic<S>, id?: Id | Identified | null, options?: AnyOptions): Promise<AnyItem | null>;
    getItem<K extends ClassName>(className: K | Item<K>, id?: Id | Identified | null, options?: LoadOptions<K>): Promise<ItemOf<K> | null>;
    createItem<S extends string>(className: Dynamic<S>, data: object, version?: string | null, log?: unknown, options?: AnyOptions): Promise<AnyItem>;
    createItem<K extends ClassName>(className: K, data: Input<K>, version?: string | null, log?: unknown, options?: WriteOptions<K>): Promise<ItemOf<K>>;
    editItem<S extends string>(className: Dynamic<S>, id: Id | Identified, data: object, log?: unknown, options?: AnyOptions): Promise<AnyItem>;
    editItem<K extends ClassName>(className: K, id: Id | Identified, data: Partial<Input<K>>, log?: unknown, options?: WriteOptions<K>): Promise<ItemOf<K>>;
    /** Creates the item, or changes the item with this id. */
    saveItem<S extends string>(className: Dynamic<S>, id: Id | Identified | null, data: object, version?: string | null, log?: unknown, options?: AnyOptions): Promise<AnyItem>;
    saveItem<K extends ClassName>(className: K, id: Id | Identified | null, data: Partial<Input<K>>, version?: string | null, log?: unknown, options?: WriteOptions<K>): Promise<ItemOf<K>>;
    deleteItem<S extends string>(className: Dynamic<S>, id?: Id | Identified, log?: unknown, options?: AnyOptions): Promise<void>;
    deleteItem<K extends ClassName>(className: K | Item<K>, id?: Id | Identified, log?: unknown, options?: object): Promise<void>;
    /** Adds members to a collection. */
    put<K extends ClassName>(master: Item<K>, collection: Classes[K]["collections"], details: CollectionInput | Identified, log?: unknown, options?: object): Promise<ItemOf<K>>;
    put(master: AnyItem, collection: string, details: any, log?: unknown, options?: object): Promise<AnyItem>;
    /** Removes members from a collection. */
    eject<K extends ClassName>(master: Item<K>, collection: Classes[K]["collections"], details: CollectionInput | Identified, log?: unknown, options?: object): Promise<ItemOf<K>>;
    eject(master: AnyItem, collection: string, details: any, log?: unknown, options?: object): Promise<AnyItem>;
    getAssociationsList(master: Identified, collection: string, options?: AnyOptions): Promise<List<AnyItem>>;
    getAssociationsCount(master: Identified, collection: string, options?: AnyOptions): Promise<number>;
    bulkEdit<S extends string>(className: Dynamic<S>, data: object, options?: AnyOptions): Promise<number>;
    bulkEdit<K extends ClassName>(className: K, data: Partial<Input<K>>, options?: CountOptions<K>): Promise<number>;
    bulkDelete<S extends string>(className: Dynamic<S>, options?: AnyOptions): Promise<number>;
    bulkDelete<K extends ClassName>(className: K, options?: CountOptions<K>): Promise<number>;
    aggregate<S extends string>(className: Dynamic<S>, options: AnyOptions): Promise<{ [column: string]: any }[]>;
    aggregate<K extends ClassName>(className: K, options: Aggregation<K>): Promise<{ [column: string]: any }[]>;
    /** Computes the cached attributes of an item again. */
    recache(item: Identified): Promise<AnyItem>;
    /** Makes an item from data without storing it. */
    wrap<S extends string>(className: Dynamic<S>, data: object, version?: string | null): AnyItem;
    wrap<K extends ClassName>(className: K, data: Partial<Input<K>>, version?: string | null): ItemOf<K>;
  }
  /** The type of an event: a class and an event of its items. For put and eject, the collection stands in between. */
  type EventType =
    | `${ClassName}.${"pre-create" | "create" | "pre-edit" | "edit" | "pre-save" | "save" | "pre-delete" | "delete" | "pre-fetch" | "pre-iterate"}`
    | { [K in ClassName]: `${K}.${Classes[K]["collections"]}.${"put" | "eject"}` }[ClassName];
  interface RepositoryEvent {
    readonly type: string;
    readonly class: string;
    readonly id: string | null;
    readonly user: User;
    readonly item?: AnyItem | null;
    /** The values to write. A handler of a pre event may return more attributes. */
    readonly data?: any;
    readonly updates?: any;
    readonly master?: AnyItem | null;
    readonly collection?: string;
    readonly details?: AnyItem[];
    /** For pre-fetch and pre-iterate: the options of the list, without its filter. */
    readonly options?: { sort: { [path: string]: 1 | -1 }; offset: number; count?: number; skipSubClasses: boolean };
    /** For pre events: refuses the write. */
    cancel?(): void;
    [field: string]: any;
  }
  /** The repository of a transaction. A nested transaction can fail alone. */
  interface Tx extends Transaction {
    transaction<T>(work: (tx: Tx) => Promise<T> | T): Promise<T>;
  }
  interface DataRepo extends Transaction {
    /**
     * Commits if the promise of work resolves, and rolls back if it rejects. If another transaction conflicts, it rejects
     * with the code "busy"; if attempts is set, work is called again in a new transaction instead, up to 20 times.
     */
    transaction<T>(work: (tx: Tx) => Promise<T> | T, options?: { attempts?: number }): Promise<T>;
    /** Registers a handler for events of a class such as 'note@sample.create'. It must be called while the service loads. */
    on(event: EventType | EventType[], handler: (event: RepositoryEvent) => unknown): void;
    on<S extends string>(event: Dynamic<S> | Dynamic<S>[], handler: (event: RepositoryEvent) => unknown): void;
  }
}

declare namespace restsrv {
  /** The name of a class of this application. */
  type ClassName = keyof Classes;
  /** Attributes of a class as scripts read them. */
  type Values<K extends ClassName> = Classes[K]["values"];
  /** The attributes that createItem accepts for a class. */
  type Input<K extends ClassName> = Classes[K]["input"];
  /** An item of a class. */
  type ItemOf<K extends ClassName> = Classes[K]["item"];
  /** A class name that is only known at run time. Its attributes are not checked. */
  type Dynamic<S extends string> = string extends S ? S : never;

  /** An integer. It is a bigint if a number cannot represent it exactly. */
  type Int = number;
  /** A decimal. It is a string if a number cannot represent it exactly. */
  type Decimal = number | NumericText;
  type NumericText = `${number}`;
  type Bytes = Uint8Array | ArrayBuffer;

  /** A file of an item. Its content is at /files/<id>. */
  interface FileInfo {
    readonly id: string;
    readonly name: string;
    readonly link: string;
    readonly options: { readonly name: string; readonly mimeType: string };
    readonly size: number;
  }
  /** An image of an item, with the addresses of its thumbnails by kind. */
  interface ImageInfo extends FileInfo {
    readonly file: FileInfo;
    readonly thumbnails: {
      readonly [kind: string]: {
        readonly id: string;
        readonly name: string;
        readonly link: string;
        readonly options: { readonly name: string; readonly mimeType: string; readonly thumbType: string };
      };
    };
  }
  /** A file to write: new content, or the id of a stored file. */
  type FileInput =
    | string
    | Bytes
    | { buffer: Bytes; name?: string; originalname?: string; mimeType?: string; mimetype?: string }
    | { name?: string; mime?: string; mimeType?: string; body: string }
    | { id: string }
    | FileInfo
    | StoredFile;
  /** A reference to write: an id, an item, an object to save, or null. */
  type ReferenceInput = string | number | bigint | Identified | { [attribute: string]: unknown } | null;
  /** A collection to write: all its members, or a change. */
  type CollectionInput =
    | readonly ReferenceInput[]
    | { add?: readonly ReferenceInput[]; remove?: readonly ReferenceInput[] };

  type LinkName<K extends ClassName> = keyof Classes[K]["links"] & string;
  type LinkPath<K extends ClassName> = LinkName<K> | `${LinkName<K>}.${string}`;
  /** An attribute, or a path through references and collections. */
  type AttributePath<K extends ClassName> =
    | (keyof Values<K> & string)
    | `${LinkName<K> | Classes[K]["structs"]}.${string}`
    | "_id" | "_class" | "__class";

  /** The stored form of an item, item.base. Collections are the ids of the loaded members. */
  type Base<K extends ClassName> = {
    readonly [P in keyof Values<K>]: P extends Classes[K]["collections"] ? string[] | null : Values<K>[P];
  } & { readonly _class: string; readonly _classVer: string; readonly _creator: string; readonly _editor: string };

  /** An item of any class. */
  interface Identified {
    readonly id: string;
    getItemId(): string;
    getClassName(): string;
  }
  /** An item. Its attributes are also its properties, unless a member below has the same name. */
  interface Item<K extends ClassName> extends Identified {
    readonly base: Base<K>;
    readonly classMeta: ClassMeta;
    readonly properties: Properties<K>;
    readonly references: { readonly [name: string]: AnyItem };
    readonly collections: { readonly [name: string]: AnyItem[] };
    /** The files of the item, by attribute. */
    readonly files: { readonly [name: string]: StoredFile | StoredFile[] };
    /** Computes the calculated attributes again, from the loaded values. Use it after set. */
    calculateProperties(): Promise<void>;
    getMetaClass(): ClassMeta;
    getCreator(): string;
    getEditor(): string;
    /** The display string. */
    toString(): string;
    /** The value of an attribute. For a reference it is the id, for a collection the loaded items. */
    get<P extends keyof Values<K>>(name: P): Values<K>[P];
    get(name: "__class" | "__classTitle"): string;
    get(path: `${LinkName<K>}.${string}`): any;
    get<S extends string>(path: Dynamic<S>): any;
    /** Changes this object only. Use editItem to store the change. */
    set<P extends keyof Input<K>>(name: P, value: Input<K>[P]): void;
    property(name: keyof Properties<K>): Property;
    property<S extends string>(name: Dynamic<S>): Property | null;
    getProperties(): Properties<K>;
    /** The item of a reference, if it is loaded. */
    getAggregate<L extends LinkName<K>>(name: L): ItemOf<Classes[K]["links"][L] & ClassName> | null;
    getAggregate<S extends string>(name: Dynamic<S>): AnyItem | null;
    /** The members of a collection, if they are loaded. */
    getAggregates<L extends LinkName<K>>(name: L): ItemOf<Classes[K]["links"][L] & ClassName>[] | null;
    getAggregates<S extends string>(name: Dynamic<S>): AnyItem[] | null;
  }
  type Properties<K extends ClassName> = { readonly [P in keyof Values<K> | "__class" | "__classTitle"]: Property };

  /** An item of a class that is only known at run time. */
  interface AnyItem extends Identified {
    readonly base: { readonly [attribute: string]: any };
    readonly classMeta: ClassMeta;
    readonly properties: { readonly [name: string]: Property };
    readonly references: { readonly [name: string]: AnyItem };
    readonly collections: { readonly [name: string]: AnyItem[] };
    readonly files: { readonly [name: string]: StoredFile | StoredFile[] };
    calculateProperties(): Promise<void>;
    getMetaClass(): ClassMeta;
    getCreator(): string;
    getEditor(): string;
    toString(): string;
    get(path: string): any;
    set(name: string, value: unknown): void;
    property(name: string): Property | null;
    getProperties(): { [name: string]: Property };
    getAggregate(name: string): AnyItem | null;
    getAggregates(name: string): AnyItem[] | null;
    readonly [attribute: string]: any;
  }

  interface Property {
    readonly name: string;
    readonly item: AnyItem;
    readonly meta: PropertyMeta;
    getName(): string;
    getCaption(): string;
    /** The number of the type, see core/PropertyTypes. */
    getType(): number;
    isReadOnly(): boolean;
    isUnique(): boolean;
    isNullable(): boolean;
    isIndexed(): boolean;
    eagerLoading(): boolean;
    hint(): string;
    getValue(): any;
    /** The optional function formats dates. */
    getDisplayValue(dates?: ((date: Date) => string) | string): string;
    /** The item of a reference, the items of a collection, otherwise the value. */
    evaluate(): any;
    getSelection(): any;
    setValue(value: unknown): void;
  }
  interface PropertyMeta {
    readonly name: string;
    readonly caption: string;
    readonly type: number;
    readonly nullable: boolean;
    readonly [field: string]: any;
  }
  interface ClassMeta {
    readonly plain: { readonly name: string; readonly namespace: string; readonly properties: PropertyMeta[]; readonly [field: string]: any };
    readonly propertyMetas: { readonly [name: string]: PropertyMeta };
    getName(): string;
    getCaption(): string;
    getNamespace(): string;
    getCanonicalName(): string;
    getVersion(): string;
    getKeyProperties(): string[];
    getAncestor(): ClassMeta | null;
    getDescendants(direct?: boolean): ClassMeta[];
    checkAncestor(name: string): boolean;
    getPropertyMeta(name: string): PropertyMeta | null;
    getPropertyMetas(): PropertyMeta[];
    getSemantics(item: Identified): string | null;
    getSemanticAttrs(): string[];
    getForcedEnrichment(): string[][];
    getContainerReference(): string;
    getCreationTracker(): string;
    getChangeTracker(): string;
    getCreatorTracker(): string;
    getEditorTracker(): string;
    getCacheDependencies(): string[][];
    isAbstract(): boolean;
    isJournaling(): boolean;
    isSemanticCached(): boolean;
  }
  interface MetaRepo {
    getMeta(name: ClassName, version?: string | null, namespace?: string): ClassMeta;
    getMeta<S extends string>(name: Dynamic<S>, version?: string | null, namespace?: string): ClassMeta;
    listMeta(ancestor?: string | null, version?: string | null, direct?: boolean, namespace?: string): ClassMeta[];
    ancestor(name: string): ClassMeta | null;
    propertyMetas(name: string): PropertyMeta[];
    /** The navigation, by name of section. Codes of sections and nodes are written namespace@code, or code. */
    getNavigationSections(namespace?: string): { readonly [name: string]: NavigationSection };
    getNavigationSection(code: string, namespace?: string): NavigationSection | null;
    getNode(code: string, namespace?: string): NavigationNode | null;
    /** The top nodes of a section, or the nodes below a node. If the section is null, all sections are included. */
    getNodes(section?: string | null, parent?: string | null, namespace?: string): NavigationNode[];
    /** The code of the node that lists a class. */
    getNodeForClassname(name: string, namespace?: string): string | null;
    getListViewModel(name: string, node?: string | null, namespace?: string, version?: string | null): ViewModel | null;
    /** The view for the members of a collection, otherwise the list view of the class. */
    getCollectionViewModel(name: string, collection: string, node?: string | null, namespace?: string, version?: string | null): ViewModel | null;
    getItemViewModel(name: string, node?: string | null, namespace?: string, version?: string | null): ViewModel | null;
    /** The view for creating items, otherwise the item view. */
    getCreationViewModel(name: string, node?: string | null, namespace?: string, version?: string | null): ViewModel | null;
    /** The view for details, otherwise the item view. */
    getDetailViewModel(name: string, node?: string | null, namespace?: string, version?: string | null): ViewModel | null;
    getWorkflows(name: string, namespace?: string, version?: string | null): Workflow[];
    getWorkflow(name: string, workflow: string, namespace?: string, version?: string | null): Workflow | null;
    getWorkflowView(name: string, workflow: string, state: string, namespace?: string, version?: string | null): ViewModel | null;
    /** The input mask with this name, or {} if it does not exist. */
    getMask(name: string): { readonly [field: string]: any };
    getValidators(): Validator[];
  }
  interface NavigationSection {
    readonly name: string;
    readonly namespace: string;
    readonly itemType: "section";
    readonly nodes: { readonly [code: string]: NavigationNode };
    readonly [field: string]: any;
  }
  interface NavigationNode {
    readonly code: string;
    readonly namespace: string;
    readonly section: string;
    readonly itemType: "node";
    readonly children: NavigationNode[];
    readonly [field: string]: any;
  }
  interface ViewModel {
    readonly type: "list" | "collection" | "item" | "create" | "detail";
    readonly className: string;
    readonly path: string;
    readonly [field: string]: any;
  }
  interface Workflow {
    readonly name: string;
    readonly namespace: string;
    readonly wfClass: string;
    readonly states: WorkflowPart[];
    readonly transitions: WorkflowPart[];
    readonly statesByName: { readonly [name: string]: WorkflowPart };
    readonly transitionsByName: { readonly [name: string]: WorkflowPart };
    readonly transitionsBySrc: { readonly [state: string]: WorkflowPart[] };
    readonly transitionsByDest: { readonly [state: string]: WorkflowPart[] };
    readonly [field: string]: any;
  }
  /** The component ion://workflows. If a move is refused, the promise rejects with an Error that has code, such as workflow.ti, and params. */
  interface Workflows {
    getStatus(item: Identified, options?: object): Promise<WorkflowStatus>;
    /** Resolves to the updated item, or to null if the account may not read it any more. */
    performTransition(item: Identified, workflow: string, transition: string, options?: object): Promise<AnyItem | null>;
    pushToState(item: Identified, workflow: string, state: string, options?: object): Promise<AnyItem | null>;
    /** Registers a handler for objects that are about to enter the state workflow@namespace.state. It must be called while the service loads. The attributes that the handler returns are set in the object; false refuses the move. */
    on(states: string | string[], handler: (event: any) => any): void;
  }
  interface WorkflowStatus {
    stages: { [workflow: string]: { stage: string; stageCaption: string; workflowCaption: string; since?: Date; expires?: Date; expired?: boolean; next: { [transition: string]: { name: string; caption: string; [member: string]: any } } } };
    itemPermissions: { [permission: string]: true };
    propertyPermissions: { [attribute: string]: { [permission: string]: true } };
    selectionProviders: { [attribute: string]: any };
  }
  interface WorkflowPart {
    readonly name: string;
    readonly [field: string]: any;
  }
  interface Validator {
    readonly name: string;
    readonly validationExpression?: string;
    readonly [field: string]: any;
  }
}

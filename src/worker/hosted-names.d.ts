/** The hosted platform's names of types that have another name here. Part of `edgehost/worker` and of `edgehost/worker/dom`. */

type R2Bucket = StoreBucket;
type R2Object = StoreObject;
type R2ObjectBody = StoreObjectBody;
type R2Objects = StoreObjects;
type R2MultipartUpload = StoreMultipartUpload;
type R2UploadedPart = StoreUploadedPart;
type R2Checksums = StoreChecksums;
type R2Conditional = StoreConditional;
type R2GetOptions = StoreGetOptions;
type R2HTTPMetadata = StoreHTTPMetadata;
type R2ListOptions = StoreListOptions;
type R2MultipartOptions = StoreMultipartOptions;
type R2PutOptions = StorePutOptions;
type R2Range = StoreRange;

type KVNamespace = KvNamespace;
type KVNamespaceListKey<Metadata = unknown> = KvListKey<Metadata>;
type KVNamespaceListResult<Metadata = unknown> = KvListResult<Metadata>;
type KVNamespaceListOptions = KvListOptions;
type KVNamespacePutOptions = KvPutOptions;

type D1Database = SqlDatabase;
type D1DatabaseSession = SqlSession;
type D1PreparedStatement = SqlStatement;
type D1Result<Row = Record<string, unknown>> = SqlResult<Row>;
type D1ExecResult = SqlExecResult;
type D1Meta = SqlMeta;

type DurableObjectNamespace<T = object> = StatefulNamespace<T>;
type DurableObjectStub<T = object> = StatefulStub<T>;
type DurableObjectId = StatefulId;
type DurableObjectState = StatefulObjectState;
type DurableObjectStorage = StatefulStorage;
type DurableObjectTransaction = StatefulTransaction;

type Fetcher<Entrypoint = object> = Service<Entrypoint>;

/** Blob and File are serializable. @see https://w3c.github.io/FileAPI/#blob-section */

import { dataCloneError, registerCloneable } from '../messaging/structured-clone.ts';
import { blobBytes, blobType, createBlob, File, isBlob, isFile } from './blob.ts';

registerCloneable({
  is: isBlob,
  clone: value => {
    if (!isBlob(value)) throw dataCloneError('The object is not a Blob');
    // The bytes of a Blob never change, so the clone shares them.
    const blob = createBlob([blobBytes(value)], blobType(value));
    return isFile(value)
      ? new File([blob], value.name, { type: blobType(value), lastModified: value.lastModified })
      : blob;
  },
});

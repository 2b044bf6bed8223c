/** All functions of files, as they are called synchronously. */
import { attributeFunctions } from './attributes.ts';
import { contentFunctions } from './contents.ts';
import { descriptorFunctions } from './descriptors.ts';
import { nameFunctions } from './names.ts';

type AnyCall = (...args: unknown[]) => unknown;

export const fileFunctions = { ...attributeFunctions, ...contentFunctions, ...descriptorFunctions, ...nameFunctions };
export type FileFunction = keyof typeof fileFunctions;

/** Each by its name, for the other forms of the API that are made of them. */
export const callable = fileFunctions as { readonly [Name in FileFunction]: unknown } as {
  readonly [Name in FileFunction]: AnyCall; // they check their arguments
};

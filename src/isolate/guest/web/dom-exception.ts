/** DOMException of the guest realm. @see https://webidl.spec.whatwg.org/#idl-DOMException */

export class DOMException extends Error {
  readonly code: number = 0;

  constructor(message = '', name = 'Error') {
    super(message);
    Object.defineProperty(this, 'name', { __proto__: null, value: name, configurable: true } as PropertyDescriptor);
  }
}

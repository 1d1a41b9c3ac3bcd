/** The client library. It is most of the code, so it is a bundle of its own that does not delay activation. */

export * from 'vscode-languageclient/node';

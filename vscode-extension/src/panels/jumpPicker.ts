/** The list of locations to look at next, with probabilities and reasons. */

import * as vscode from 'vscode';

import type { Server } from '../client';
import { t } from '../l10n';
import type { Cursor } from '../locations';
import { type CodeLocation, type Jump, serverCommands } from '../protocol';
import { jumpTitle, moveText, plannedText } from '../messages';

const MAX_MOVES = 20;
const MAX_PLANNED = 5;

/** Offer where to go from the cursor, and go there. Resolves to whether there was anything to offer. */
export async function jump(server: Server, cursor: Cursor | undefined): Promise<boolean> {
  const offer = (await server.command(serverCommands.jump, cursor ?? null, {
    ask: false,
    limit: MAX_MOVES,
  })) as Jump | null;
  if (!offer?.moves.length) {
    return false;
  }
  const move = await choose(offer);
  if (move) {
    const to = { uri: move.uri, line: move.range.start.line };
    await server.command(serverCommands.jump, cursor ?? null, { ask: false, limit: 1, to });
  }
  return true;
}

type Place = vscode.QuickPickItem & { move?: CodeLocation };

async function choose(offer: Jump): Promise<CodeLocation | undefined> {
  const pick = vscode.window.createQuickPick<Place>();
  pick.title = jumpTitle(offer);
  pick.placeholder = offer.plan?.saved ?? t('Most likely first');
  pick.matchOnDescription = true;
  pick.matchOnDetail = true;
  const planned = offer.plan?.places.slice(0, MAX_PLANNED) ?? [];
  pick.items = [
    ...part(
      t('To find the fault soon'),
      planned.map((move, k) => ({ ...plannedText(move, k), move })),
    ),
    ...part(
      t('Most likely first'),
      offer.moves.map((move) => ({ ...moveText(move), move })),
    ),
  ];
  return new Promise((done) => {
    const listeners = vscode.Disposable.from(
      pick.onDidAccept(() => {
        done(pick.selectedItems[0]?.move);
        pick.hide();
      }),
      pick.onDidHide(() => {
        listeners.dispose();
        pick.dispose();
        done(undefined);
      }),
    );
    pick.show();
  });
}

function part(label: string, places: Place[]): Place[] {
  return places.length ? [{ label, kind: vscode.QuickPickItemKind.Separator }, ...places] : [];
}

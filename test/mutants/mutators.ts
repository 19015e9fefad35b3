import {
  type BinaryExpression,
  type CallExpression,
  isArrayLiteralExpression,
  isBinaryExpression,
  isCallExpression,
  isConditionalExpression,
  isExpressionStatement,
  isIdentifier,
  isIfStatement,
  isImportDeclaration,
  isNewExpression,
  isNumericLiteral,
  isPostfixUnaryExpression,
  isPrefixUnaryExpression,
  isPropertyAccessExpression,
  isPropertyAssignment,
  isReturnStatement,
  isSpreadAssignment,
  isSpreadElement,
  isStringLiteral,
  isTemplateExpression,
  isTypeNode,
  isWhileStatement,
  type Node,
  type SourceFile,
  SyntaxKind,
} from 'typescript/unstable/ast';
import { listSqlChanges } from './sql-mutators.ts';

/** A small mistake somebody could make: this part of the source becomes that text. */
export interface Change {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** Each operator with what it is mistaken for: its boundary, its opposite. */
const OPERATORS: Readonly<Record<string, readonly string[]>> = {
  '<': ['<=', '>='],
  '<=': ['<', '>'],
  '>': ['>=', '<='],
  '>=': ['>', '<'],
  '===': ['!=='],
  '!==': ['==='],
  '+': ['-'],
  '-': ['+'],
  '*': ['/'],
  '/': ['*'],
  '%': ['*'],
  '&&': ['||'],
  '||': ['&&'],
  '+=': ['-='],
  '-=': ['+='],
  '??=': ['='],
};

const METHODS = new Map([
  ['some', 'every'],
  ['every', 'some'],
  ['startsWith', 'endsWith'],
  ['endsWith', 'startsWith'],
  ['min', 'max'],
  ['max', 'min'],
  ['floor', 'ceil'],
  ['ceil', 'floor'],
  ['union', 'intersection'],
  ['intersection', 'union'],
]);

/** Calls whose result may be mistaken for what they are called on. */
const LEFT_OUT_CALLS = new Set([
  'filter',
  'sort',
  'toSorted',
  'reverse',
  'toReversed',
  'slice',
  'trim',
  'toLowerCase',
  'normalize',
  'concat',
]);

/** All mutants of a source. Types, imports, comments and the words of thrown bugs stay as they are. */
export function listChanges(source: SourceFile): Change[] {
  const changes: Change[] = [];
  const visit = (node: Node): void => {
    if (isTypeNode(node) || isImportDeclaration(node) || isError(node)) return;
    for (const mutate of MUTATORS) changes.push(...mutate(node));
    node.forEachChild(visit);
  };
  source.forEachChild(visit);
  return changes;
}

/** An `Error` is a broken invariant. Its words are for developers and no part of the behaviour. */
function isError(node: Node): boolean {
  return isNewExpression(node) && isIdentifier(node.expression) && node.expression.text === 'Error';
}

const MUTATORS: readonly ((node: Node) => Change[])[] = [
  (node) => (isBinaryExpression(node) ? mutateOperator(node) : []),
  (node) => (isCallExpression(node) ? mutateCall(node) : []),
  mutateCondition,
  mutateLiteral,
  mutateUnary,
  mutateStatement,
  mutateSpread,
  mutateText,
];

function replace(node: Node, text: string): Change {
  return { start: node.getStart(), end: node.end, text };
}

function mutateOperator({ left, operatorToken, right }: BinaryExpression): Change[] {
  const operator = operatorToken.getText();
  const changes = (OPERATORS[operator] ?? []).map((text) => replace(operatorToken, text));
  if (operator !== '??') return changes;
  const start = left.getStart();
  return [
    { start, end: right.end, text: left.getText() },
    { start, end: right.end, text: right.getText() },
  ];
}

function mutateCall({ expression }: CallExpression & { parent?: Node }): Change[] {
  if (!isPropertyAccessExpression(expression)) return [];
  const { name } = expression;
  const other = METHODS.get(name.text);
  if (other !== undefined) return [replace(name, other)];
  if (!LEFT_OUT_CALLS.has(name.text)) return [];
  return [{ start: expression.expression.end, end: expression.parent.end, text: '' }];
}

function mutateCondition(node: Node): Change[] {
  if (isIfStatement(node)) return [replace(node.expression, 'true'), replace(node.expression, 'false')];
  if (isWhileStatement(node)) return [replace(node.expression, 'false')];
  if (!isConditionalExpression(node)) return [];
  return [replace(node, node.whenTrue.getText()), replace(node, node.whenFalse.getText())];
}

function mutateLiteral(node: Node): Change[] {
  if (node.kind === SyntaxKind.TrueKeyword) return [replace(node, 'false')];
  if (node.kind === SyntaxKind.FalseKeyword) return [replace(node, 'true')];
  if (isArrayLiteralExpression(node) && node.elements.length > 0) return [replace(node, '[]')];
  if (!isNumericLiteral(node)) return [];
  const value = Number(node.text);
  return [replace(node, String(value + 1)), ...(value > 0 ? [replace(node, String(value - 1))] : [])];
}

function mutateUnary(node: Node): Change[] {
  if (isPrefixUnaryExpression(node)) {
    const isTwice =
      node.operator === SyntaxKind.PlusPlusToken || node.operator === SyntaxKind.MinusMinusToken;
    return isTwice ? [] : [replace(node, node.operand.getText())];
  }
  if (!isPostfixUnaryExpression(node)) return [];
  const other = node.operator === SyntaxKind.PlusPlusToken ? '--' : '++';
  return [replace(node, `${node.operand.getText()}${other}`)];
}

function mutateStatement(node: Node): Change[] {
  const isJump = node.kind === SyntaxKind.ContinueStatement || node.kind === SyntaxKind.BreakStatement;
  const isCommand = isExpressionStatement(node) || node.kind === SyntaxKind.ThrowStatement;
  const returnsEarly = isReturnStatement(node) && node.expression === undefined;
  return isJump || isCommand || returnsEarly ? [replace(node, '{}')] : [];
}

/** What is spread into an object or an array is forgotten, or a property that overrides it. */
function mutateSpread(node: Node): Change[] {
  if (isSpreadAssignment(node)) return [replace(node, '...{}')];
  if (isSpreadElement(node)) return [replace(node, '...[]')];
  const isOverride = isPropertyAssignment(node) && node.parent.getText().startsWith('{ ...');
  return isOverride ? [replace(node, '...{}')] : [];
}

function mutateText(node: Node): Change[] {
  const isText = isStringLiteral(node) || node.kind === SyntaxKind.NoSubstitutionTemplateLiteral;
  if (!isText && !isTemplateExpression(node)) return [];
  const start = node.getStart();
  const sql = listSqlChanges(node.getText()).map((change) => {
    return { ...change, start: change.start + start, end: change.end + start };
  });
  if (sql.length > 0) return sql;
  return node.getText().length > 2 ? [replace(node, "''")] : [];
}

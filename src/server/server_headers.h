// SPDX-License-Identifier: GPL-2.0-only
// The server's headers, in the one order that works. First in every file of server/ that needs
// them: they define macros and expect to come before the standard library's.
#pragma once

#define MYSQL_SERVER 1
#include <my_global.h>

#include <sql_class.h>
#include <sql_plugin.h>

#include <handler.h>
#include <key.h>
#include <log.h>
#include <rpl_rli.h>
#include <sql_base.h>
#include <sql_show.h>
#include <sql_table.h>
#include <sql_update.h>
#include <table.h>

#include <mysql/plugin.h>
#include <mysql/service_thd_wait.h>

// min and max are the standard library's here.
#undef min
#undef max

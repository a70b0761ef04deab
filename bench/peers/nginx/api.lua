-- The sample's projects and images with lua-resty-mysql.
local cjson = require "cjson"
local mysql = require "resty.mysql"

local encode, quote = cjson.encode, ngx.quote_sql_str
local concat = table.concat

local server = {
    host = os.getenv("DB_HOST"),
    port = tonumber(os.getenv("DB_PORT")),
    database = os.getenv("DB_NAME"),
    user = os.getenv("DB_USER"),
    password = os.getenv("DB_PASSWORD"),
    charset = "utf8mb4",
    compact_arrays = true,
}

local function connect()
    local db = mysql:new()
    db:set_timeout(10000)
    assert(db:connect(server))
    return db
end

local function query(db, sql)
    local rows, message = db:query(sql)
    if not rows then
        -- What is left of a transaction must not come back from the pool.
        db:close()
        error(message)
    end
    return rows
end

local function done(db)
    db:set_keepalive(60000, 10)
end

-- The members of an object in the order of `names`, which a Lua table does not keep.
local function object(names, row)
    local members = {}
    for i = 1, #names do
        members[i] = '"' .. names[i] .. '":' .. encode(row[i])
    end
    return "{" .. concat(members, ",") .. "}"
end

local api = {}

function api.projects()
    local db = connect()
    local key = ngx.unescape_uri(ngx.var.arg_key or "")
    local company = query(db, "SELECT id, name FROM companies WHERE api = " .. quote(key))[1]
    if not company then
        done(db)
        ngx.status = 401
        return ngx.print('{"status":"Fail","error_message":"Bad api key"}')
    end
    local rows = query(db, "SELECT id, name FROM projects WHERE company_id = " .. company[1] .. " ORDER BY id")
    done(db)
    local projects = {}
    for i = 1, #rows do
        local row = rows[i]
        projects[i] = '{"id":' .. row[1] .. ',"name":' .. encode(row[2]) .. "}"
    end
    ngx.print('{"status":"Success","data":[', concat(projects, ","), "]}")
end

local fields = {
    "_id", "name", "access", "type", "format", "owner", "status", "size", "created_at", "accessed_at", "access_count",
    "checksum", "others",
}
local find = "SELECT " .. concat(fields, ", ") .. " FROM images WHERE _id = "
local count = "UPDATE images SET access_count = access_count + 1, accessed_at = CURRENT_TIMESTAMP WHERE _id = "

local function iso(time)
    return time == ngx.null and time or (time:gsub(" ", "T", 1))
end

function api.image()
    local db, id = connect(), ngx.var.id
    local quoted = quote(id)
    query(db, "START TRANSACTION")
    local row = query(db, find .. quoted)[1]
    query(db, count .. quoted)
    query(db, "COMMIT")
    done(db)
    if not row then
        ngx.status = 404
        return ngx.print('{"code":404,"message":', encode("No image found with id '" .. id .. "'."), "}")
    end
    row[9], row[10] = iso(row[9]), iso(row[10])
    ngx.print('{"image":', object(fields, row), "}")
end

return api
